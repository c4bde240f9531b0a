import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { file_lf_a2a_v1_a2a } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { decodeBinary, encodeBinary } from "../../../src/protocol/binary/index.js";
import {
  MessageSchema,
  PartSchema,
  type Role,
  TaskSchema,
  TaskStatusSchema,
} from "../../../src/protocol/schema.js";

const partOf = (text: string) => create(PartSchema, { content: { case: "text", value: text } });
const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));

describe("the protobuf codec", () => {
  it("keeps what protobuf-es loses: a byte order mark, and a key __proto__", () => {
    const marked = partOf("\ufefftext");
    expect(decodeBinary(PartSchema, encodeBinary(PartSchema, marked))).toEqual(marked);
    const metadata = JSON.parse('{"__proto__":{"polluted":1},"a":1}');
    const back = decodeBinary(PartSchema, encodeBinary(PartSchema, create(PartSchema, { metadata })));
    expect(Object.keys(back.metadata ?? {})).toEqual(["__proto__", "a"]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    expect((back.metadata as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("takes the replacement character where it was written, and refuses what is no UTF-8", () => {
    const odd = partOf("a\ufffdb");
    expect(decodeBinary(PartSchema, encodeBinary(PartSchema, odd))).toEqual(odd);
    for (const text of ["ff", "c3", "c0 80", "ed a0 80", "f4 90 80 80", "61 80"]) {
      const length = bytesOf(text).length.toString(16).padStart(2, "0");
      expect(() => decodeBinary(PartSchema, bytesOf(`0a ${length} ${text}`)), text).toThrow();
    }
  });

  it("writes a lone surrogate as the replacement character", () => {
    for (const before of ["", "x".repeat(60)]) {
      const back = decodeBinary(PartSchema, encodeBinary(PartSchema, partOf(`${before}\ud800`)));
      expect(back.content.value).toBe(`${before}\ufffd`);
    }
  });

  it("reads a number of another wire type as a field that it does not know", () => {
    const part = decodeBinary(PartSchema, bytesOf("08 05"));
    expect(part.content.case).toBeUndefined();
    expect(part.$unknown).toEqual([{ no: 1, wireType: 0, data: bytesOf("05") }]);
    expect(encodeBinary(PartSchema, part)).toEqual(bytesOf("08 05"));
  });

  it("merges halves of a message that lie one behind the other", () => {
    const head = create(TaskSchema, { id: "t", status: { state: 1 }, history: [{ messageId: "u" }] });
    const rest = create(TaskSchema, { artifacts: [{ artifactId: "a" }], status: { state: 2 } });
    const bytes = Buffer.concat([encodeBinary(TaskSchema, head), encodeBinary(TaskSchema, rest)]);
    expect(decodeBinary(TaskSchema, bytes)).toEqual(
      create(TaskSchema, {
        id: "t",
        status: { state: 2 },
        history: [{ messageId: "u" }],
        artifacts: [{ artifactId: "a" }],
      }),
    );
  });

  it.each([
    ["the end of the bytes", "0a 05 61"],
    ["a length beyond its message", "2a 02 0a 05 61 61 61 61 61"],
    ["field 0", "00 00"],
    ["wire type 6", "0e"],
    ["wire type 7", "0f"],
    ["a group that does not end", "fb 3f 08 01"],
    ["the end of a group that never began", "fc 3f"],
    ["a varint of eleven bytes", "f8 3f ff ff ff ff ff ff ff ff ff ff 01"],
  ])("refuses %s", (_, hex) => {
    expect(() => decodeBinary(MessageSchema, bytesOf(hex))).toThrow(RangeError);
  });

  it("goes 100 messages deep and no further, unless it is told to, on Values, Structs and groups", () => {
    const nested = (depth: number) => {
      let value: unknown = 1;
      for (let level = 0; level < depth; level++) value = [value];
      return create(PartSchema, { metadata: { value } as never });
    };
    const deep = encodeBinary(PartSchema, nested(48));
    expect(decodeBinary(PartSchema, deep)).toEqual(fromBinary(PartSchema, deep));
    const deeper = encodeBinary(PartSchema, nested(49));
    expect(() => fromBinary(PartSchema, deeper)).toThrow();
    expect(() => decodeBinary(PartSchema, deeper)).toThrow(RangeError);
    expect(decodeBinary(PartSchema, deeper, { maxDepth: 102 })).toEqual(nested(49));
    const deepest = encodeBinary(PartSchema, nested(300));
    expect(encodeBinary(PartSchema, decodeBinary(PartSchema, deepest, { maxDepth: 700 }))).toEqual(deepest);
    const groups = Buffer.concat(Array.from({ length: 5_000 }, () => bytesOf("fb 3f")));
    expect(() => decodeBinary(PartSchema, groups)).toThrow(RangeError);
    expect(decodeBinary(ValueSchema, bytesOf("32 02 0a 00"))).toEqual(
      fromBinary(ValueSchema, bytesOf("32 02 0a 00")),
    );
  });

  it.each([
    ["a text that is a number", PartSchema, { ...partOf(""), filename: 7 }],
    ["an enum that is a fraction", MessageSchema, { ...create(MessageSchema), role: 1.5 }],
    ["an enum beyond 32 bits", MessageSchema, { ...create(MessageSchema), role: (2 ** 31) as Role }],
    [
      "seconds beyond 64 bits",
      TaskStatusSchema,
      create(TaskStatusSchema, { timestamp: { seconds: 2n ** 63n } }),
    ],
    ["bytes that are a text", PartSchema, { ...partOf(""), content: { case: "raw", value: "text" } }],
  ])("refuses to write %s, and writes well after it", (_, schema, message) => {
    expect(() => encodeBinary(schema, message as never)).toThrow(TypeError);
    expect(encodeBinary(PartSchema, partOf("a"))).toEqual(bytesOf("0a 01 61"));
  });

  it("writes and reads whole numbers of any size", () => {
    const bounds = [7n, 14n, 31n, 32n, 49n, 53n, 63n].flatMap((bits) => [2n ** bits - 1n, -(2n ** bits)]);
    for (const seconds of [0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n, ...bounds]) {
      const status = create(TaskStatusSchema, { timestamp: { seconds } });
      const bytes = encodeBinary(TaskStatusSchema, status);
      expect(Buffer.compare(bytes, toBinary(TaskStatusSchema, status)), String(seconds)).toBe(0);
      expect(decodeBinary(TaskStatusSchema, bytes)).toEqual(status);
    }
  });

  it("writes messages of any size, and what it returned stays as it was", () => {
    const small = encodeBinary(PartSchema, partOf("small"));
    const before = [...small];
    for (const size of [100, 10_000, 3_000_000, 10]) {
      const task = create(TaskSchema, { history: [{ parts: [partOf("é".repeat(size))] }] });
      expect(Buffer.compare(encodeBinary(TaskSchema, task), toBinary(TaskSchema, task))).toBe(0);
    }
    expect([...small]).toEqual(before);
  });

  it("leaves types with other kinds of fields to protobuf-es", () => {
    const file = file_lf_a2a_v1_a2a.proto;
    const bytes = toBinary(FileDescriptorProtoSchema, file);
    expect(Buffer.compare(encodeBinary(FileDescriptorProtoSchema, file), bytes)).toBe(0);
    expect(decodeBinary(FileDescriptorProtoSchema, bytes)).toEqual(
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
  });
});
