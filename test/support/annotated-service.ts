import {
  create,
  createFileRegistry,
  type DescService,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  MethodOptionsSchema,
  ServiceDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { file_lf_a2a_v1_a2a, HttpRuleSchema, http } from "../../src/protocol/schema.js";
import { testProtos } from "./test-protos.js";

const A2A_FILE = "lf/a2a/v1/a2a.proto";

/** One RPC of a service that a test makes up. Messages are named within `switchyard.test.v1`, or fully with a dot before. */
export interface AnnotatedRpc {
  readonly name?: string;
  readonly rule?: MessageInitShape<typeof HttpRuleSchema>;
  /** Default `Update`. */
  readonly input?: string;
  /** Default `Update`. */
  readonly output?: string;
  readonly streams?: "in" | "out" | "both";
}

/** A service `made.up.v1.Service` with these RPCs, named A, B, C… unless they say otherwise, over the messages of test/proto. */
export function annotatedService(rpcs: readonly AnnotatedRpc[]): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: "made/up/v1/service.proto",
    package: "made.up.v1",
    syntax: "proto3",
    dependency: [
      "switchyard/test/v1/rules.proto",
      "switchyard/test/v1/transcoding.proto",
      "google/api/httpbody.proto",
      A2A_FILE,
    ],
  });
  const service = create(ServiceDescriptorProtoSchema, { name: "Service" });
  for (const [index, rpc] of rpcs.entries()) {
    const options = create(MethodOptionsSchema);
    if (rpc.rule) setExtension(options, http, create(HttpRuleSchema, rpc.rule));
    service.method.push({
      $typeName: "google.protobuf.MethodDescriptorProto",
      name: rpc.name ?? String.fromCharCode(65 + index),
      inputType: typeName(rpc.input ?? "Update"),
      outputType: typeName(rpc.output ?? "Update"),
      clientStreaming: rpc.streams === "in" || rpc.streams === "both",
      serverStreaming: rpc.streams === "out" || rpc.streams === "both",
      options,
    });
  }
  file.service.push(service);
  const registry = createFileRegistry(file, (name) =>
    name === A2A_FILE ? file_lf_a2a_v1_a2a : testProtos().getFile(name),
  );
  return registry.getService("made.up.v1.Service") as DescService;
}

function typeName(name: string): string {
  return name.startsWith(".") ? name : `.switchyard.test.v1.${name}`;
}
