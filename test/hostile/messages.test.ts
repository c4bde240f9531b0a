import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERRORS, type ErrorRow, type Reason } from "../../src/errors.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import { statesNumbers } from "../support/wires/neutral.js";
import { RAW_WIRES, type RawAnswer, type RawClient } from "./raw-wires.js";

/** Input, what it is in place of a message, and the one answer that every wire of its form gives. */
type Row = readonly [title: string, message: string | Uint8Array, answer: Reason | "ok", id: "raw" | null];

const GOOD = '{"messageId":"$","role":"ROLE_USER","parts":[{"text":"hi"}]';
const MEBIBYTE = 1 << 20;

/** Messages of SendMessage as JSON text; `$` becomes a fresh id. `null`: JSON-RPC cannot know the id. */
const JSON_ROWS = rows([
  ["nothing at all", "", "PARSE_ERROR", null],
  ["white space", " \n\t", "PARSE_ERROR", null],
  ["cut off", '{"message":{"messageId":"x"', "PARSE_ERROR", null],
  ["two values", '{"message":{}}{}', "PARSE_ERROR", null],
  ["a trailing comma", `{"message":${GOOD}},}`, "PARSE_ERROR", null],
  ["a comment", `{/**/"message":${GOOD}}}`, "PARSE_ERROR", null],
  ["single quotes", "{'message':{}}", "PARSE_ERROR", null],
  ["NaN", `{"message":${GOOD},"metadata":{"n":NaN}}}`, "PARSE_ERROR", null],
  ["Infinity", `{"message":${GOOD},"metadata":{"n":-Infinity}}}`, "PARSE_ERROR", null],
  ["a number with a leading zero", `{"message":${GOOD},"metadata":{"n":01}}}`, "PARSE_ERROR", null],
  ["a raw line break in a text", '{"message":{"messageId":"a\nb"}}', "PARSE_ERROR", null],
  ["a raw NUL in a text", '{"message":{"messageId":"a\u0000b"}}', "PARSE_ERROR", null],
  ["a bad escape", '{"message":{"messageId":"\\x41"}}', "PARSE_ERROR", null],
  ["invalid UTF-8", Buffer.from('{"message":{"messageId":"\xff"}}', "latin1"), "PARSE_ERROR", null],
  ["overlong UTF-8", Buffer.from('{"message":{"messageId":"\xc0\xaf"}}', "latin1"), "PARSE_ERROR", null],
  [
    "a surrogate in UTF-8",
    Buffer.from('{"message":{"messageId":"\xed\xa0\x80"}}', "latin1"),
    "PARSE_ERROR",
    null,
  ],
  ["a text instead of an object", '"x"', "INVALID_ARGUMENT"],
  ["a list instead of an object", "[]", "INVALID_ARGUMENT"],
  ["a number instead of an object", "7", "INVALID_ARGUMENT"],
  ["a lone surrogate", '{"message":{"messageId":"\\ud800"}}', "INVALID_ARGUMENT"],
  ["a repeated key", `{"message":${GOOD}},"message":${GOOD}}}`, "INVALID_ARGUMENT"],
  ["a field under both of its names", '{"message":{"messageId":"a","message_id":"b"}}', "INVALID_ARGUMENT"],
  [
    "two members of a oneof",
    `{"message":{"messageId":"$","role":"ROLE_USER","parts":[{"text":"a","url":"b"}]}}`,
    "INVALID_ARGUMENT",
  ],
  [
    "an unknown enum name",
    '{"message":{"messageId":"$","role":"ROLE_KING","parts":[{"text":"a"}]}}',
    "INVALID_ARGUMENT",
  ],
  [
    "an enum name in lower case",
    '{"message":{"messageId":"$","role":"role_user","parts":[{"text":"a"}]}}',
    "INVALID_ARGUMENT",
  ],
  [
    "an enum name as a fraction",
    '{"message":{"messageId":"$","role":1.5,"parts":[{"text":"a"}]}}',
    "INVALID_ARGUMENT",
  ],
  ["a number that no double holds", `{"message":${GOOD},"metadata":{"n":1e999}}}`, "INVALID_ARGUMENT"],
  [
    "an int32 that is too big",
    `{"message":${GOOD}},"configuration":{"historyLength":2147483648}}`,
    "INVALID_ARGUMENT",
  ],
  [
    "base64 that is none",
    `{"message":{"messageId":"$","role":"ROLE_USER","parts":[{"raw":"a*b"}]}}`,
    "INVALID_ARGUMENT",
  ],
  [
    "nesting over 100 levels",
    `{"message":${GOOD},"metadata":{"d":${"[".repeat(150)}${"]".repeat(150)}}}}`,
    "INVALID_ARGUMENT",
  ],
  [
    "nesting over 100 000 levels",
    `{"message":${GOOD},"metadata":{"d":${"[".repeat(1e5)}${"]".repeat(1e5)}}}}`,
    "INVALID_ARGUMENT",
  ],
  ["nesting that never ends", `{"message":${'{"a":'.repeat(1e5)}`, "INVALID_ARGUMENT"],
  [
    "a part without content",
    '{"message":{"messageId":"$","role":"ROLE_USER","parts":[{}]}}',
    "INVALID_ARGUMENT",
  ],
  ["null in a list", '{"message":{"messageId":"$","role":"ROLE_USER","parts":[null]}}', "INVALID_ARGUMENT"],
  ["an unknown field with a deep value", `{"message":${GOOD}},"future":{"a":[{"b":[null]}]}}`, "ok"],
  [
    "keys of Object.prototype",
    `{"message":${GOOD}},"__proto__":{"tenant":"x"},"constructor":1,"toString":null}`,
    "ok",
  ],
  ["an unknown field with 100 000 keys", `{"message":${GOOD}},"future":{${wide(100_000)}}}`, "ok"],
  [
    "metadata with 100 000 keys, over its limit",
    `{"message":${GOOD},"metadata":{${wide(100_000)}}}}`,
    "INVALID_ARGUMENT",
  ],
  [
    "a list of 100 000 parts",
    `{"message":{"messageId":"$","role":"ROLE_USER","parts":[${'{"text":"hi"},'.repeat(99_999)}{"text":"hi"}]}}`,
    "ok",
  ],
  ["white space everywhere", ` {\n\t"message" : ${GOOD} } \r\n } `, "ok"],
  ["escapes for plain characters", `{"\\u006dessage":${GOOD}}}`, "ok"],
  ["a metadata key of Object.prototype", `{"message":${GOOD},"metadata":{"__proto__":{"a":1}}}}`, "ok"],
]);

function wide(keys: number): string {
  return Array.from({ length: keys }, (_, index) => `"${index}":0`).join(",");
}

const protobuf = (...bytes: (number | string)[]) =>
  Buffer.concat(
    bytes.map((each) => (typeof each === "string" ? Buffer.from(each, "latin1") : Buffer.from([each]))),
  );

/** Messages of SendMessage as protobuf. */
const PROTOBUF_ROWS = rows([
  ["nothing at all, the empty message", "", "INVALID_ARGUMENT"],
  ["a length beyond the end", protobuf(0x12, 0x05, "abc"), "INVALID_ARGUMENT"],
  ["a varint that never ends", protobuf(0x12, ..."\xff".repeat(12)), "INVALID_ARGUMENT"],
  ["field number 0", protobuf(0x02, 0x00), "INVALID_ARGUMENT"],
  ["wire type 7", protobuf(0x0f, 0x00), "INVALID_ARGUMENT"],
  ["an unmatched end of a group", protobuf(0x0c), "INVALID_ARGUMENT"],
  ["a group that never ends", protobuf(0x0b), "INVALID_ARGUMENT"],
  ["invalid UTF-8 in a text", protobuf(0x0a, 0x01, "\xff"), "INVALID_ARGUMENT"],
  ["a field of another wire type", protobuf(0x10, 0x01), "INVALID_ARGUMENT"],
  ["random bytes", protobuf(0xde, 0xad, 0xbe, 0xef, 0x00, 0x01), "INVALID_ARGUMENT"],
  ["two members of a oneof: the last one counts", partWith(0x0a, 0x01, "a", 0x1a, 0x01, "b"), "ok"],
  ["an unknown field", protobuf(...goodMessage(), 0xfa, 0x7f, 0x01, "x"), "ok"],
  ["nesting over 1 000 levels", nested(1_000), "INVALID_ARGUMENT"],
  ["nesting over 20 000 levels", nested(20_000), "INVALID_ARGUMENT"],
]);

function goodMessage(): (number | string)[] {
  const part = protobuf(0x0a, 0x02, "hi");
  return partMessage(part);
}

function partWith(...bytes: (number | string)[]): Buffer {
  return protobuf(...partMessage(protobuf(...bytes)));
}

/** A send of one message with this part; its id is fresh by the row's own bytes. */
function partMessage(part: Buffer): (number | string)[] {
  const id = `id${part.toString("hex")}${Math.random()}`;
  const message = protobuf(0x0a, id.length, id, 0x20, 0x01, 0x2a, part.length, part.toString("latin1"));
  return [0x12, message.length, message.toString("latin1")];
}

/** metadata → Struct → Value → list → Value → … */
function nested(levels: number): Buffer {
  let value = Buffer.alloc(0);
  const wrap = (tag: number) => {
    value = Buffer.concat([Buffer.from([tag]), varint(value.length), value]);
  };
  for (let level = 0; level < levels; level += 1) {
    wrap(0x0a); // ListValue.values
    wrap(0x32); // Value.list_value
  }
  wrap(0x12); // map value
  wrap(0x0a); // Struct.fields
  wrap(0x22); // SendMessageRequest.metadata
  return value;
}

function varint(value: number): Buffer {
  return value < 0x80
    ? Buffer.from([value])
    : Buffer.concat([Buffer.from([(value & 0x7f) | 0x80]), varint(value >>> 7)]);
}

type ShortRow = readonly [title: string, message: string | Uint8Array, answer: Reason | "ok", id?: null];

function rows(short: readonly ShortRow[]): Row[] {
  return short.map(([title, message, answer, id]) => [title, message, answer, id === null ? null : "raw"]);
}

let gateway: TestGateway;
let fresh = 0;

beforeAll(async () => {
  const agent = createScriptedAgent({ hi: [{ message: "ho" }], "": [{ message: "hum" }] });
  gateway = await startGateway({ agents: [{ agent }], limits: { messageBytes: 4 * MEBIBYTE } });
});
afterAll(() => gateway.close());

describe.each(RAW_WIRES)("messages over $name", (wire) => {
  let client: RawClient;
  beforeAll(() => {
    client = wire.connect(gateway);
  });
  afterAll(() => client.close());

  test.each(wire.form === "json" ? JSON_ROWS : PROTOBUF_ROWS)("%s", async (_title, message, expected, id) => {
    fresh += 1;
    const bytes = typeof message === "string" ? Buffer.from(message.replaceAll("$", `m${fresh}`)) : message;
    const answer = await client.ask({ method: "SendMessage", message: bytes });
    expectAnswer(answer, expected);
    if (wire.name.startsWith("jsonrpc")) expect(answer.id).toBe(id);
  });

  test("a message larger than the limit is refused as too large", async () => {
    const text = "x".repeat(5 * MEBIBYTE);
    const answer = await client.ask({ method: "SendMessage", message: Buffer.from(text) });
    expectAnswer(answer, "TOO_LARGE");
  });
});

function expectAnswer(answer: RawAnswer, expected: Reason | "ok"): void {
  if (expected === "ok" || answer.kind === "ok") {
    expect(answer.kind === "ok" ? "ok" : answer.error).toBe(expected);
    return;
  }
  const { error } = answer;
  const row = ERRORS.get(expected) as ErrorRow;
  expect({ code: error.code, info: error.reason }, error.message).toEqual({ code: row.code, info: row.info });
  expect(statesNumbers(row, error.numbers), JSON.stringify(error.numbers)).toBe(true);
  expect(error.message).not.toMatch(/\bat \/|node_modules|\.[jt]s:\d|Error:/);
}
