// Times reading and writing of messages: our ProtoJSON beside protobuf-es's, JSON's own, and binary.
import {
  create,
  type DescMessage,
  fromBinary,
  fromJsonString,
  type MessageShape,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { decodeBinary, encodeBinary } from "../../../src/protocol/binary/index.js";
import { readJson, writeJson } from "../../../src/protocol/json/index.js";
import {
  GetTaskRequestSchema,
  ListTasksResponseSchema,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
} from "../../../src/protocol/schema.js";
import { ANSWER, EVENT } from "../servers/answers.js";
import { report, type Timing, timed } from "./timed.js";

const request = create(SendMessageRequestSchema, {
  message: {
    messageId: "bench-0000000000000001",
    role: Role.USER,
    parts: [{ content: { case: "text", value: "Hello, agent." } }],
  },
});
const task = ANSWER.payload.case === "task" ? ANSWER.payload.value : undefined;
const page = create(ListTasksResponseSchema, {
  tasks: Array.from({ length: 50 }, () => task ?? {}),
  pageSize: 50,
});

function timingsOf<Desc extends DescMessage>(
  name: string,
  schema: Desc,
  message: MessageShape<Desc>,
): Timing[] {
  const text = writeJson(schema, message);
  const plain = JSON.parse(text) as unknown;
  const binary = toBinary(schema, message);
  return [
    timed(`${name}: write JSON, ours`, () => writeJson(schema, message)),
    timed(`${name}: write JSON, protobuf-es`, () => toJsonString(schema, message)),
    timed(`${name}: write JSON, JSON.stringify`, () => JSON.stringify(plain)),
    timed(`${name}: read JSON, ours`, () => readJson(schema, text)),
    timed(`${name}: read JSON, protobuf-es`, () => fromJsonString(schema, text)),
    timed(`${name}: read JSON, JSON.parse`, () => JSON.parse(text)),
    timed(`${name}: write binary, ours`, () => encodeBinary(schema, message)),
    timed(`${name}: write binary, protobuf-es`, () => toBinary(schema, message)),
    timed(`${name}: read binary, ours`, () => decodeBinary(schema, binary)),
    timed(`${name}: read binary, protobuf-es`, () => fromBinary(schema, binary)),
  ];
}

report([
  ...timingsOf(
    "GetTask request",
    GetTaskRequestSchema,
    create(GetTaskRequestSchema, { id: "5a8f43ce-8a3c-4c0b-9d3c-6b1c0b8d5e11" }),
  ),
  ...timingsOf("SendMessage request", SendMessageRequestSchema, request),
  ...timingsOf("SendMessage answer", SendMessageResponseSchema, ANSWER),
  ...timingsOf("stream event", StreamResponseSchema, EVENT),
  ...timingsOf("page of 50 tasks", ListTasksResponseSchema, page),
]);
