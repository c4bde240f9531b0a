// The floor of gRPC: grpc-js alone. GetTask hands bytes through; SendMessage decodes and encodes with protobuf-es.

import { once } from "node:events";
import { createServer } from "node:http";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import {
  A2AService,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  SendMessageResponseSchema,
} from "../../../src/protocol/schema.js";
import { ANSWER, ANSWER_BINARY, EVENT_BINARY } from "./answers.js";

const bytes = (value: Buffer): Buffer => value;
const readRequest = (value: Buffer): SendMessageRequest => fromBinary(SendMessageRequestSchema, value);
const writeAnswer = (value: SendMessageResponse): Buffer =>
  Buffer.from(toBinary(SendMessageResponseSchema, value));

const method = {
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes,
  responseDeserialize: bytes,
};
const server = new Server();
server.addService(
  {
    GetTask: {
      ...method,
      path: `/${A2AService.typeName}/GetTask`,
      requestDeserialize: bytes,
      responseSerialize: bytes,
    },
    SendMessage: {
      ...method,
      path: `/${A2AService.typeName}/SendMessage`,
      requestDeserialize: readRequest,
      responseSerialize: writeAnswer,
    },
    SendStreamingMessage: {
      ...method,
      responseStream: true,
      path: `/${A2AService.typeName}/SendStreamingMessage`,
      requestDeserialize: readRequest,
      responseSerialize: bytes,
    },
  },
  {
    GetTask: (_call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
      done(null, ANSWER_BINARY),
    SendMessage: (
      _call: ServerUnaryCall<SendMessageRequest, SendMessageResponse>,
      done: sendUnaryData<SendMessageResponse>,
    ) => done(null, ANSWER),
    SendStreamingMessage: (call: ServerWritableStream<SendMessageRequest, Buffer>) => void stream(call),
  },
);

/** `hold` leaves the stream open after its first event. */
async function stream(call: ServerWritableStream<SendMessageRequest, Buffer>): Promise<void> {
  const content = call.request.message?.parts[0]?.content;
  const [word, count = "1"] = content?.case === "text" ? content.value.split(" ") : [];
  for (let index = 0; index < Number(count); index += 1) {
    if (!call.write(EVENT_BINARY)) await once(call, "drain");
  }
  if (word !== "hold") call.end();
}

server.bindAsync(`127.0.0.1:${process.env.GRPC_PORT}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
createServer((_request, response) => response.end()).listen(Number(process.env.HTTP_PORT), "127.0.0.1");
