import { create, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { A2AService } from "../../../src/protocol/schema.js";
import { createReflection } from "../../../src/server/reflection.js";

it.each(["google.rpc.ErrorInfo", "google.rpc.BadRequest.FieldViolation"])(
  "reflection finds %s, which clients need to print an error",
  async (symbol) => {
    const [v1] = createReflection([A2AService]);
    const method = v1?.service.method.serverReflectionInfo;
    if (v1 === undefined || method === undefined) throw new Error("no reflection");
    const request = create(ServerReflectionRequestSchema, {
      messageRequest: { case: "fileContainingSymbol", value: symbol },
    });
    const requests = (async function* () {
      yield request;
    })();
    const answers: ServerReflectionResponse[] = [];
    for await (const answer of v1.answer(method, requests, new AbortController().signal)) {
      answers.push(answer as ServerReflectionResponse);
    }
    const answer = answers[0]?.messageResponse;
    if (answer?.case !== "fileDescriptorResponse") throw new Error(`answered with ${answer?.case}`);
    const files = answer.value.fileDescriptorProto.map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    expect(files[0]?.name).toBe("google/rpc/error_details.proto");
  },
);
