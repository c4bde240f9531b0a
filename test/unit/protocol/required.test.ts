import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/errors.js";
import { readJson } from "../../../src/protocol/json/index.js";
import { checkRequired, requiredViolations } from "../../../src/protocol/required.js";
import {
  AgentCardSchema,
  CancelTaskRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTasksRequestSchema,
  PartSchema,
  SendMessageRequestSchema,
  TaskPushNotificationConfigSchema,
} from "../../../src/protocol/schema.js";

const EMPTY = "must not be empty";
const MISSING = "is required";
const NO_CONTENT = "must have one of text, raw, url, data";

describe("what is missing, by path (S1-03)", () => {
  const cases: readonly (readonly [DescMessage, string, Record<string, string>])[] = [
    [SendMessageRequestSchema, "{}", { message: MISSING }],
    [
      SendMessageRequestSchema,
      '{"message":{}}',
      { "message.messageId": EMPTY, "message.role": MISSING, "message.parts": EMPTY },
    ],
    [
      SendMessageRequestSchema,
      '{"message":{"messageId":"1","role":"ROLE_UNSPECIFIED","parts":[{}]}}',
      { "message.role": MISSING, "message.parts[0]": NO_CONTENT },
    ],
    [
      SendMessageRequestSchema,
      '{"message":{"messageId":"1","role":99,"parts":[{"text":""},{"metadata":{}},{"data":null}]}}',
      { "message.parts[1]": NO_CONTENT },
    ],
    [
      SendMessageRequestSchema,
      '{"message":{"messageId":"1","role":1,"parts":[{"text":"x"}]},"configuration":{"taskPushNotificationConfig":{"authentication":{}}}}',
      {
        "configuration.taskPushNotificationConfig.url": EMPTY,
        "configuration.taskPushNotificationConfig.authentication.scheme": EMPTY,
      },
    ],
    [CancelTaskRequestSchema, "{}", { id: EMPTY }],
    [GetTaskPushNotificationConfigRequestSchema, "{}", { taskId: EMPTY, id: EMPTY }],
    [TaskPushNotificationConfigSchema, '{"url":"https://x"}', {}],
    [ListTasksRequestSchema, "{}", {}],
    [SendMessageRequestSchema, '{"message":{"messageId":"1","role":1,"parts":[{"text":"x"}]}}', {}],
    [
      AgentCardSchema,
      '{"name":"a","description":"d","version":"1","capabilities":{},"supportedInterfaces":[{}],"defaultInputModes":["a"],"defaultOutputModes":["a"],"skills":[{"id":"s","name":"n","description":"d","tags":["t"]}],"securitySchemes":{"o d":{"apiKeySecurityScheme":{"name":"n"}}}}',
      {
        "supportedInterfaces[0].url": EMPTY,
        "supportedInterfaces[0].protocolBinding": EMPTY,
        "supportedInterfaces[0].protocolVersion": EMPTY,
        'securitySchemes["o d"].apiKeySecurityScheme.location': EMPTY,
      },
    ],
  ];

  it.each(cases)("%s %s", (schema, text, expected) => {
    const violations = requiredViolations(schema, readJson(schema, text));
    expect(Object.fromEntries(violations.map(({ field, description }) => [field, description]))).toEqual(
      expected,
    );
    expect(violations).toHaveLength(Object.keys(expected).length);
  });
});

describe("an agent's card may be sparse, but not lack a message", () => {
  it("allowEmpty", () => {
    const card = create(AgentCardSchema, { name: "a" });
    expect(requiredViolations(AgentCardSchema, card, { allowEmpty: true })).toEqual([
      { field: "capabilities", description: MISSING },
    ]);
    expect(requiredViolations(AgentCardSchema, card).length).toBeGreaterThan(5);
  });
});

describe("numbers that JSON cannot express", () => {
  it.each([
    [
      {
        content: {
          case: "data" as const,
          value: { kind: { case: "numberValue" as const, value: Number.NaN } },
        },
      },
      "data",
    ],
    [
      {
        content: { case: "text" as const, value: "x" },
        metadata: { a: [1, { "b c": Number.NEGATIVE_INFINITY }] },
      },
      'metadata.a[1]["b c"]',
    ],
  ])("%o", (init, field) => {
    const part = fromBinary(PartSchema, toBinary(PartSchema, create(PartSchema, init)));
    expect(requiredViolations(PartSchema, part)).toEqual([{ field, description: "must be a finite number" }]);
  });

  it("inside a Value", () => {
    const number = (value: number) => ({ kind: { case: "numberValue" as const, value } });
    const list = { kind: { case: "listValue" as const, value: { values: [number(0), number(Number.NaN)] } } };
    const data = { kind: { case: "structValue" as const, value: { fields: { list } } } };
    const part = create(PartSchema, { content: { case: "data", value: data } });
    expect(requiredViolations(PartSchema, part)).toEqual([
      { field: "data.list[1]", description: "must be a finite number" },
    ]);
  });
});

describe("checkRequired", () => {
  it("throws one INVALID_ARGUMENT with all violations", () => {
    const request = create(SendMessageRequestSchema, { message: { role: 1 } });
    try {
      checkRequired(SendMessageRequestSchema, request);
      expect.unreachable();
    } catch (thrown) {
      const error = thrown as A2AError;
      expect(error).toBeInstanceOf(A2AError);
      expect(error.reason).toBe("INVALID_ARGUMENT");
      expect(error.message).toBe("message.messageId must not be empty, message.parts must not be empty.");
      expect(error.violations.map(({ field }) => field)).toEqual(["message.messageId", "message.parts"]);
    }
  });

  it("stops counting at 20", () => {
    const parts = Array.from({ length: 50 }, () => ({}));
    const request = create(SendMessageRequestSchema, { message: { messageId: "m", role: 1, parts } });
    expect(requiredViolations(SendMessageRequestSchema, request)).toHaveLength(20);
  });

  it("returns when nothing is missing", () => {
    const request = create(CancelTaskRequestSchema, { id: "t" });
    expect(checkRequired(CancelTaskRequestSchema, request)).toBeUndefined();
  });
});
