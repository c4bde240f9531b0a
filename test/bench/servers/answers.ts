import { create, toBinary, toJson } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  Role,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskState,
} from "../../../src/protocol/schema.js";
import { chunkText } from "./script.js";

/** What the floors answer: a task as the echo agent leaves it. */
export const ANSWER = create(SendMessageResponseSchema, {
  payload: {
    case: "task",
    value: {
      id: "5a8f43ce-8a3c-4c0b-9d3c-6b1c0b8d5e11",
      contextId: "0c6f1e5b-43a2-4d0f-8f57-3e0f7a1f9b22",
      status: { state: TaskState.COMPLETED, timestamp: timestampNow() },
      artifacts: [
        { artifactId: "echo", name: "echo", parts: [{ content: { case: "text", value: "Hello, agent." } }] },
      ],
      history: [
        {
          messageId: "bench-0000000000000001",
          contextId: "0c6f1e5b-43a2-4d0f-8f57-3e0f7a1f9b22",
          taskId: "5a8f43ce-8a3c-4c0b-9d3c-6b1c0b8d5e11",
          role: Role.USER,
          parts: [{ content: { case: "text", value: "Hello, agent." } }],
        },
      ],
    },
  },
});

export const ANSWER_JSON = toJson(SendMessageResponseSchema, ANSWER);
export const ANSWER_BINARY = Buffer.from(toBinary(SendMessageResponseSchema, ANSWER));

/** One event of a stream. */
export const EVENT = create(StreamResponseSchema, {
  payload: {
    case: "artifactUpdate",
    value: {
      taskId: "5a8f43ce-8a3c-4c0b-9d3c-6b1c0b8d5e11",
      contextId: "0c6f1e5b-43a2-4d0f-8f57-3e0f7a1f9b22",
      append: true,
      artifact: { artifactId: "text", parts: [{ content: { case: "text", value: chunkText(1) } }] },
    },
  },
});

export const EVENT_JSON = toJson(StreamResponseSchema, EVENT);
export const EVENT_BINARY = Buffer.from(toBinary(StreamResponseSchema, EVENT));
