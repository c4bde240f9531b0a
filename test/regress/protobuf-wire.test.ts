import { create, fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { decodeBinary as readCaller } from "../../src/bindings/binary.js";
import { decodeBinary, encodeBinary } from "../../src/protocol/binary/index.js";
import { fromStored } from "../../src/protocol/event.js";
import { PartSchema, SendMessageRequestSchema, TaskSchema } from "../../src/protocol/schema.js";

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
/** A field with a length before it. */
const field = (tag: number, ...content: readonly Uint8Array[]) => {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Uint8Array.of(tag, bytes.length), bytes]);
};

describe("protobuf on the wire", () => {
  it.each([
    ["six bytes", "8a 80 80 80 80 00 01 61"],
    ["more than 32 bits, which would name another field", "8a 80 80 80 10 01 61"],
    ["a number inside a group", "fb 3f 88 80 80 80 10 01 fc 3f"],
    ["a Struct's entry", "2a 06 8a 80 80 80 10 00"],
  ])("refuses a tag of %s", (_, hex) => {
    expect(() => decodeBinary(PartSchema, bytesOf(hex))).toThrow("a tag is too long");
  });

  it("reads a tag in five bytes where it fits", () => {
    expect(decodeBinary(PartSchema, bytesOf("8a 80 80 80 00 01 61")).content.value).toBe("a");
  });

  it("puts together a Value that comes in pieces, objects and lists alike", () => {
    const struct = (json: object) =>
      encodeBinary(PartSchema, create(PartSchema, { metadata: json as never }));
    const member = (json: object) => struct(json).subarray(2);
    const pieces = (tag: number, one: Uint8Array, two: Uint8Array) =>
      field(0x2a, field(0x0a, bytesOf("0a 01 6b"), field(0x12, field(tag, one), field(tag, two))));
    const items = (hex: string) => bytesOf(`0a 02 ${hex}`);
    const cases = [
      {
        bytes: pieces(0x2a, member({ a: 1 }), member({ b: { c: 2 } })),
        metadata: { k: { a: 1, b: { c: 2 } } },
      },
      { bytes: pieces(0x32, items("20 01"), items("08 00")), metadata: { k: [true, null] } },
    ];
    for (const { bytes, metadata } of cases) {
      expect(decodeBinary(PartSchema, bytes).metadata).toEqual(metadata);
      expect(decodeBinary(PartSchema, bytes)).toEqual(fromBinary(PartSchema, bytes));
    }
  });

  it("refuses ten megabytes of unknown fields, each of which would take a hundred times its size", () => {
    const filled = (hex: string) => new Uint8Array(Buffer.alloc(10_000_000, bytesOf(hex)));
    for (const many of [filled("78 05"), filled("7b 7c")]) {
      expect(() => readCaller(SendMessageRequestSchema, many, 100)).toThrow(
        "is not a valid SendMessageRequest",
      );
    }
    const most = filled("78 05").subarray(0, 200_000);
    expect(readCaller(SendMessageRequestSchema, most, 100).$unknown).toHaveLength(100_000);
  });

  it("reads back what is stored, however many unknown fields came together there", () => {
    const stored = new Uint8Array(Buffer.alloc(400_000, bytesOf("78 05")));
    expect(fromStored(TaskSchema, stored).$unknown).toHaveLength(200_000);
  });
});
