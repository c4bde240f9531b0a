import {
  createRegistry,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { file_google_protobuf_duration, StructSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { A2AError } from "../../src/errors.js";
import { parseJson, readJson, writeJson } from "../../src/protocol/json/index.js";
import {
  AgentCardSchema,
  ListTasksRequestSchema,
  SendMessageRequestSchema,
  TaskSchema,
} from "../../src/protocol/schema.js";
import { testMessage } from "../support/test-protos.js";
import { messages } from "./messages.js";
import { fuzz, mutated } from "./support.js";

const registry = createRegistry(file_google_protobuf_duration);
const SCHEMAS: readonly DescMessage[] = [
  TaskSchema,
  SendMessageRequestSchema,
  AgentCardSchema,
  ListTasksRequestSchema,
  StructSchema,
  testMessage("Kinds"),
  testMessage("Q"),
];

/** protobuf-es's JSON lacks what is REQUIRED and empty; whatever else ours has must be the same. */
function expectSame(ours: JsonValue, theirs: JsonValue | undefined): void {
  if (theirs === undefined)
    expect(["", 0, "TASK_STATE_UNSPECIFIED", "ROLE_UNSPECIFIED", [], {}]).toContainEqual(ours);
  else if (isObject(ours) && isObject(theirs)) {
    expect(Object.keys(ours)).toEqual(expect.arrayContaining(Object.keys(theirs)));
    for (const [key, value] of Object.entries(ours))
      expectSame(value, Object.hasOwn(theirs, key) ? theirs[key] : undefined);
  } else if (Array.isArray(ours) && Array.isArray(theirs)) {
    expect(ours).toHaveLength(theirs.length);
    for (const [index, value] of ours.entries()) expectSame(value, theirs[index]);
  } else expect(ours).toBe(theirs);
}

/** Of two names for one number protobuf-es writes the last, other implementations the first. */
function renamed(json: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(json).replaceAll("CHOICE_UNO", "CHOICE_ONE"));
}

function isObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function expectBytes(schema: DescMessage, actual: Message, expected: Message): void {
  expect(Buffer.from(toBinary(schema, actual)).toString("hex")).toBe(
    Buffer.from(toBinary(schema, expected)).toString("hex"),
  );
}

/** What reading gives; anything thrown must be one of the two errors that a text can earn. */
function outcome<T>(read: () => T): T | A2AError {
  try {
    return read();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(A2AError);
    expect(["INVALID_ARGUMENT", "PARSE_ERROR"]).toContain((thrown as A2AError).reason);
    return thrown as A2AError;
  }
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

describe.each(SCHEMAS)("%s", (schema) => {
  // protobuf-es takes the JSON name of the one field for the proto name of the other.
  const random = messages(schema).map((message) =>
    "first" in message ? Object.assign(message, { first: "" }) : message,
  );

  fuzz(
    "is written and read as protobuf-es does it",
    fc.property(random, (message) => {
      const text = writeJson(schema, message);
      expect(text).not.toMatch(/[\r\n]/);
      const theirs = renamed(toJson(schema, message, { registry }));
      expectSame(JSON.parse(text), theirs);
      expectBytes(schema, fromJson(schema, JSON.parse(text), { registry }), message);
      expectBytes(schema, readJson(schema, text), message);
      expectBytes(schema, readJson(schema, Buffer.from(JSON.stringify(theirs)), { strict: true }), message);
    }),
  );

  fuzz(
    "a damaged text is refused or read, and then means one thing",
    fc.property(mutated(random.map((message) => writeJson(schema, message))), (bytes) => {
      const read = outcome(() => readJson(schema, bytes));
      if (!(read instanceof A2AError)) expectBytes(schema, readJson(schema, writeJson(schema, read)), read);
      else if (read.reason === "PARSE_ERROR") expect(isJson(bytes)).toBe(false);
      else expect(read.violations.length > 0 || read.message.includes("nested too deep")).toBe(true);
    }),
  );
});

describe("texts", () => {
  fuzz(
    "of any kind are parsed as JavaScript parses them, or refused for a reason",
    fc.property(mutated(fc.json()), (bytes) => {
      const parsed = outcome(() => parseJson(bytes));
      if (!(parsed instanceof A2AError)) expect(parsed).toEqual(JSON.parse(Buffer.from(bytes).toString()));
      else expect(isJson(bytes)).toBe(parsed.reason === "INVALID_ARGUMENT");
    }),
  );

  fuzz(
    "with a key given twice are refused, wherever it is",
    fc.property(
      fc.json(),
      fc.json(),
      fc.string({ unit: "binary" }),
      fc.nat({ max: 20 }),
      (one, two, key, depth) => {
        const name = JSON.stringify(key);
        const twice = `${'{"a":['.repeat(depth)}{${name}:${one},${name}:${two}}${"]}".repeat(depth)}`;
        expect(outcome(() => parseJson(twice))).toMatchObject({ reason: "INVALID_ARGUMENT" });
      },
    ),
  );

  fuzz(
    "hold whole numbers of 64 bits to the last digit, quoted or not",
    fc.property(fc.bigInt(-(2n ** 65n), 2n ** 65n), fc.constantFrom("", '"'), (number, quote) => {
      const read = outcome(() => readJson(testMessage("Kinds"), `{"i64":${quote}${number}${quote}}`));
      if (number !== BigInt.asIntN(64, number))
        expect(read).toMatchObject({ violations: [{ field: "i64" }] });
      else expect(read).toMatchObject({ i64: number });
    }),
  );
});
