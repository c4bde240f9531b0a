import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { anyPack, DurationSchema, StructSchema, TimestampSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../../src/errors.js";
import { readJson, toJsonValue, writeJson } from "../../../../src/protocol/json/index.js";
import {
  AgentCardSchema,
  ErrorInfoSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  ListTasksResponseSchema,
  MessageSchema,
  PartSchema,
  Role,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../../../../src/protocol/schema.js";
import { testMessage } from "../../../support/test-protos.js";

const Kinds = testMessage("Kinds");

function kinds(fields: Record<string, unknown>): string {
  return writeJson(Kinds, Object.assign(create(Kinds), fields) as Message);
}

describe("REQUIRED fields are always there, other defaults never (S1-03)", () => {
  it("an empty page of tasks", () => {
    expect(writeJson(ListTasksResponseSchema, create(ListTasksResponseSchema))).toBe(
      '{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}',
    );
  });

  it("an empty page of push configs, where nothing is REQUIRED", () => {
    const schema = ListTaskPushNotificationConfigsResponseSchema;
    expect(writeJson(schema, create(schema))).toBe("{}");
  });

  it("a message with nothing in it", () => {
    expect(writeJson(MessageSchema, create(MessageSchema))).toBe(
      '{"messageId":"","role":"ROLE_UNSPECIFIED","parts":[]}',
    );
  });

  it("a task without artifacts and history, its unset REQUIRED status left out", () => {
    expect(writeJson(TaskSchema, create(TaskSchema, { id: "t" }))).toBe('{"id":"t"}');
  });

  it("a card: set optionals stay, even when false", () => {
    const card = create(AgentCardSchema, {
      capabilities: { streaming: false, extensions: [{ uri: "urn:x" }] },
      documentationUrl: "",
      securitySchemes: {
        key: { scheme: { case: "apiKeySecurityScheme", value: { name: "k", location: "header" } } },
      },
    });
    expect(toJsonValue(AgentCardSchema, card)).toEqual({
      name: "",
      description: "",
      supportedInterfaces: [],
      version: "",
      documentationUrl: "",
      capabilities: { streaming: false, extensions: [{ uri: "urn:x" }] },
      securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "k" } } },
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
    });
  });
});

describe("values (S1-03)", () => {
  it("a whole task on one line", () => {
    const task = create(TaskSchema, {
      id: "t1",
      contextId: "c1",
      status: { state: TaskState.COMPLETED, timestamp: { seconds: 1_767_323_045n, nanos: 120_000_000 } },
      history: [
        {
          messageId: "m1",
          role: Role.USER,
          parts: [
            { content: { case: "text", value: "line\r\nline\u2028\u0000" } },
            { content: { case: "raw", value: Uint8Array.of(251, 255) } },
            { content: { case: "url", value: "" }, filename: "a.txt" },
          ],
          metadata: { n: 7, deep: { list: [null, "x", true] } },
        },
      ],
    });
    const text = writeJson(TaskSchema, task);
    expect(text).not.toMatch(/[\r\n]/);
    expect(text).toBe(
      '{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.120Z"},' +
        '"history":[{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"line\\r\\nline\u2028\\u0000"},{"raw":"+/8="},' +
        '{"url":"","filename":"a.txt"}],"metadata":{"n":7,"deep":{"list":[null,"x",true]}}}]}',
    );
  });

  it.each([
    [
      { i64: -(2n ** 63n), u64: 2n ** 64n - 1n },
      '{"i64":"-9223372036854775808","u64":"18446744073709551615"}',
    ],
    [{ textI64: "9007199254740993" }, '{"textI64":"9007199254740993"}'],
    [{ f64: 7, f32: 0.5 }, '{"f64":7,"f32":0.5}'],
    [{ f64: Number.NaN, f32: Number.NEGATIVE_INFINITY }, '{"f64":"NaN","f32":"-Infinity"}'],
    [{ f64: -0 }, '{"f64":-0}'],
    [{ f64: 1e21 }, '{"f64":1e+21}'],
    [{ choice: 1 }, '{"choice":"CHOICE_ONE"}'],
    [{ choice: 99 }, '{"choice":99}'],
    [
      { bools: [true, false], f64s: [1, Number.POSITIVE_INFINITY] },
      '{"f64s":[1,"Infinity"],"bools":[true,false]}',
    ],
    [
      { optionalI32: 0, optionalString: "", optionalChoice: 0 },
      '{"optionalString":"","optionalI32":0,"optionalChoice":"CHOICE_UNSPECIFIED"}',
    ],
    [
      { wrappedF64: 0, wrappedI64: 5n, wrappedBool: false, wrappedBytes: new Uint8Array(0) },
      '{"wrappedF64":0,"wrappedI64":"5","wrappedBool":false,"wrappedBytes":""}',
    ],
    [{ one: { case: "oneString", value: "" } }, '{"oneString":""}'],
    [
      { mask: { $typeName: "google.protobuf.FieldMask", paths: ["context_id", "in.leaf_name"] } },
      '{"mask":"contextId,in.leafName"}',
    ],
    [{ first: "a", secondName: "b" }, '{"second_name":"a","secondName":"b"}'],
    [{ struct: {} }, '{"struct":{}}'],
  ])("%o", (fields, text) => {
    expect(kinds(fields)).toBe(text);
  });

  it.each([
    [0n, 0, "1970-01-01T00:00:00Z"],
    [0n, 1_000, "1970-01-01T00:00:00.000001Z"],
    [-1n, 999_999_999, "1969-12-31T23:59:59.999999999Z"],
    [-62_135_596_800n, 0, "0001-01-01T00:00:00Z"],
    [253_402_300_799n, 0, "9999-12-31T23:59:59Z"],
  ])("timestamp %d s %d ns", (seconds, nanos, text) => {
    expect(writeJson(TimestampSchema, create(TimestampSchema, { seconds, nanos }))).toBe(`"${text}"`);
  });

  it.each([
    [0n, 0, "0s"],
    [1n, 500_000_000, "1.500s"],
    [0n, -1, "-0.000000001s"],
    [-3n, -1_000, "-3.000001s"],
  ])("duration %d s %d ns", (seconds, nanos, text) => {
    expect(writeJson(DurationSchema, create(DurationSchema, { seconds, nanos }))).toBe(`"${text}"`);
  });

  it.each([
    [TimestampSchema, { seconds: 253_402_300_800n }],
    [TimestampSchema, { nanos: -1 }],
    [DurationSchema, { seconds: 315_576_000_001n }],
    [DurationSchema, { seconds: 1n, nanos: -1 }],
  ] as const)("%s %o has no JSON form: INTERNAL, with a cause", (schema, init) => {
    const write = () => writeJson<DescMessage>(schema, create<DescMessage>(schema, init));
    expect(write).toThrow(A2AError);
    expect(write).toThrow(expect.objectContaining({ reason: "INTERNAL", cause: expect.any(RangeError) }));
  });

  it("half a surrogate pair comes out as protobuf would send it", () => {
    const lone = "a\ud83d \ude00 \u{1f600} \\ud800";
    const expected = "a\ufffd \ufffd \u{1f600} \\ud800";
    expect(JSON.parse(kinds({ string: lone }))).toEqual({ string: expected });
    expect(JSON.parse(kinds({ struct: { [lone]: [lone, 1, null, true] } }))).toEqual({
      struct: { [expected]: [expected, 1, null, true] },
    });
  });
});

describe("Value and Struct", () => {
  it("a number that JSON lacks becomes null and spoils nothing else", () => {
    expect(kinds({ struct: { a: Number.NaN, b: [Number.POSITIVE_INFINITY, 1] } })).toBe(
      '{"struct":{"a":null,"b":[null,1]}}',
    );
    const value = create(ValueSchema, { kind: { case: "numberValue", value: Number.NaN } });
    expect(writeJson(ValueSchema, value)).toBe("null");
  });

  it("a Value without a kind is null", () => {
    expect(writeJson(PartSchema, create(PartSchema, { content: { case: "data", value: {} } }))).toBe(
      '{"data":null}',
    );
  });

  it("integers come through gRPC without a fraction", () => {
    const part = readJson(PartSchema, '{"data":{"revision":7,"half":0.5,"big":1e15},"metadata":{"n":1.0}}');
    const back = fromBinary(PartSchema, toBinary(PartSchema, part));
    expect(writeJson(PartSchema, back)).toBe(
      '{"data":{"revision":7,"half":0.5,"big":1000000000000000},"metadata":{"n":1}}',
    );
  });

  it("nulls at every depth come through gRPC", () => {
    const text = '{"data":[null,{"a":null,"b":[[null]]}],"metadata":{"x":null,"y":{"z":[null]}}}';
    const part = readJson(PartSchema, text);
    expect(writeJson(PartSchema, fromBinary(PartSchema, toBinary(PartSchema, part)))).toBe(text);
  });

  it("a Struct in its message form", () => {
    expect(writeJson(StructSchema, readJson(StructSchema, '{"a":[1,{"b":null}]}'))).toBe(
      '{"a":[1,{"b":null}]}',
    );
  });
});

describe("Any", () => {
  const info = create(ErrorInfoSchema, { reason: "R", domain: "d", metadata: { k: "v" } });

  it.each([
    [
      anyPack(ErrorInfoSchema, info),
      '{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"R","domain":"d","metadata":{"k":"v"}}',
    ],
    [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema)),
      '{"@type":"type.googleapis.com/google.rpc.ErrorInfo"}',
    ],
    [
      anyPack(DurationSchema, create(DurationSchema, { seconds: 1n })),
      '{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}',
    ],
    [
      { $typeName: "google.protobuf.Any" as const, typeUrl: "example.com/x.Y", value: Uint8Array.of(1, 2) },
      '{"@type":"example.com/x.Y","value":"AQI="}',
    ],
    [
      {
        $typeName: "google.protobuf.Any" as const,
        typeUrl: "x/google.rpc.ErrorInfo",
        value: Uint8Array.of(10, 99),
      },
      '{"@type":"x/google.rpc.ErrorInfo","value":"CmM="}',
    ],
    [{ $typeName: "google.protobuf.Any" as const, typeUrl: "", value: new Uint8Array(0) }, "{}"],
  ])("%o", (any, text) => {
    expect(kinds({ any })).toBe(`{"any":${text}}`);
  });
});

it("a stream response names its payload", () => {
  const event = create(StreamResponseSchema, {
    payload: { case: "message", value: { messageId: "m", role: Role.AGENT } },
  });
  expect(writeJson(StreamResponseSchema, event)).toBe(
    '{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}',
  );
});
