import {
  createRegistry,
  type DescMessage,
  fromBinary,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { file_google_protobuf_duration } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { binaryDepth, isDeeper } from "../../src/protocol/depth.js";
import { SendMessageRequestSchema, TaskSchema } from "../../src/protocol/schema.js";
import { testMessage } from "../support/test-protos.js";
import { messages } from "./messages.js";
import { fuzz } from "./support.js";

const registry = createRegistry(file_google_protobuf_duration);
const SCHEMAS: readonly DescMessage[] = [
  TaskSchema,
  SendMessageRequestSchema,
  testMessage("Kinds"),
  testMessage("Q"),
];

/** Levels of objects and lists in a JSON value, counted the plain way. */
function levelsOf(json: JsonValue): number {
  if (typeof json !== "object" || json === null) return 0;
  return 1 + Math.max(0, ...Object.values(json).map(levelsOf));
}

describe("depth of messages", () => {
  for (const schema of SCHEMAS) {
    fuzz(
      `${schema.name}: the levels of a message are those of its JSON, and bound those of its protobuf`,
      fc.property(messages(schema), (message) => {
        const levels = levelsOf(toJson(schema, message, { registry }));
        expect(isDeeper(schema, message, levels)).toBe(false);
        expect(isDeeper(schema, message, levels - 1)).toBe(true);
        const limit = { recursionLimit: binaryDepth(levels) };
        expect(() => fromBinary(schema, toBinary(schema, message), limit)).not.toThrow();
      }),
    );
  }

  it("an object that contains itself is deeper than anything", () => {
    const metadata: { [key: string]: JsonValue } = {};
    metadata.self = metadata;
    const message = { ...fromBinary(TaskSchema, new Uint8Array()), metadata };
    expect(isDeeper(TaskSchema, message, 300)).toBe(true);
  });
});
