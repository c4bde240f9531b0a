import { create, type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  ServerReflection,
  type ServerReflectionRequest,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import type { SideService } from "../bindings/side-service.js";
import { CODES } from "../errors.js";
import { ErrorInfoSchema } from "../protocol/schema.js";

/** Both versions ask and answer the same; they differ in the name of their package only. */
type Question = ServerReflectionRequest["messageRequest"];
type Answer =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/**
 * Server reflection, v1 and v1alpha, of these services and of itself. Files are what the generated code was made
 * from, byte for byte, http annotations included: the file that was asked for first, then all it imports.
 */
export function createReflection(services: readonly DescService[]): SideService[] {
  const versions = [ServerReflection, ServerReflectionAlpha];
  const index = createIndex([...services, ...versions]);
  return versions.map((service) => ({
    service,
    async *answer(method, requests) {
      for await (const request of requests) {
        const { host, messageRequest } = request as ServerReflectionRequest;
        const messageResponse = answerTo(messageRequest, index);
        const answer = { validHost: host, originalRequest: request, messageResponse };
        yield create(method.output, answer as Record<string, unknown>);
      }
    },
  }));
}

interface Index {
  readonly services: readonly string[];
  readonly files: ReadonlyMap<string, DescFile>;
  /** File by the full name of what it declares. */
  readonly symbols: ReadonlyMap<string, DescFile>;
  /** File by extended type, then by field number. */
  readonly extensions: ReadonlyMap<string, ReadonlyMap<number, DescFile>>;
}

function answerTo(question: Question, index: Index): Answer {
  switch (question.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service: index.services.map((name) => ({ name })) } };
    case "fileByFilename":
      return fileAnswer(index.files.get(question.value), question.value);
    case "fileContainingSymbol":
      return fileAnswer(index.symbols.get(question.value.replace(/^\./, "")), question.value);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      const file = index.extensions.get(containingType)?.get(extensionNumber);
      return fileAnswer(file, `${containingType} extension ${extensionNumber}`);
    }
    case "allExtensionNumbersOfType": {
      const numbers = index.extensions.get(question.value);
      if (numbers === undefined && !index.symbols.has(question.value)) return unknown(question.value);
      const value = { baseTypeName: question.value, extensionNumber: [...(numbers?.keys() ?? [])] };
      return { case: "allExtensionNumbersResponse", value };
    }
    case undefined:
      return failure(CODES.INVALID_ARGUMENT.number, "The request asks nothing.");
  }
}

function fileAnswer(file: DescFile | undefined, asked: string): Answer {
  if (file === undefined) return unknown(asked);
  const fileDescriptorProto = [...closure([file])].map(({ proto }) =>
    toBinary(FileDescriptorProtoSchema, proto),
  );
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function unknown(asked: string): Answer {
  return failure(CODES.NOT_FOUND.number, `Not known here: ${asked}`);
}

function failure(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

/** These files and all that they import, each once, importers first. */
function closure(files: readonly DescFile[], seen = new Set<DescFile>()): Set<DescFile> {
  for (const file of files) {
    if (seen.has(file)) continue;
    seen.add(file);
    closure(file.dependencies, seen);
  }
  return seen;
}

function createIndex(services: readonly DescService[]): Index {
  // No service names the types of error details, but clients look them up to print them.
  const all = closure([...services.map(({ file }) => file), ErrorInfoSchema.file]);
  const symbols = new Map<string, DescFile>();
  const extensions = new Map<string, Map<number, DescFile>>();
  for (const file of all) {
    for (const name of symbolsOf(file)) symbols.set(name, file);
    for (const type of nestedTypes(file)) {
      if (type.kind !== "extension") continue;
      const numbers = extensions.get(type.extendee.typeName) ?? new Map<number, DescFile>();
      extensions.set(type.extendee.typeName, numbers.set(type.number, file));
    }
  }
  return {
    services: services.map(({ typeName }) => typeName).sort(),
    files: new Map([...all].map((file) => [file.proto.name, file])),
    symbols,
    extensions,
  };
}

/** Everything that can be named: types, services, methods, fields, oneofs, enum values. */
function* symbolsOf(file: DescFile): Generator<string> {
  for (const type of nestedTypes(file)) {
    yield type.typeName;
    if (type.kind === "service") yield* type.methods.map(({ name }) => `${type.typeName}.${name}`);
    if (type.kind === "message") yield* type.members.map(({ name }) => `${type.typeName}.${name}`);
    // A value of an enum is named beside the enum, not below it.
    if (type.kind === "enum")
      yield* type.values.map(({ name }) => `${type.typeName.replace(/[^.]*$/, "")}${name}`);
  }
}
