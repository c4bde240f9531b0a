import { describe, expect, it } from "vitest";
import { createCursorCodec } from "../../../src/protocol/cursor.js";

const secret = new Uint8Array(32).fill(7);
const cursor = { statusMs: 1_700_000_000_123, id: "task:1" };
const refused = expect.objectContaining({
  reason: "INVALID_ARGUMENT",
  violations: [expect.objectContaining({ field: "pageToken" })],
});

describe("page tokens", () => {
  it.each([
    cursor,
    { statusMs: 0, id: "" },
    { statusMs: -1, id: "a" },
    { statusMs: 253_402_300_799_999, id: "x".repeat(128) },
    { statusMs: 1.5, id: "é😀" },
  ])("come back as they went: %j", (each) => {
    const codec = createCursorCodec(secret);
    const token = codec.encode(each, "filter");
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(codec.decode(token, "filter")).toEqual(each);
  });

  it("hold across a restart with the same secret, and with no other", () => {
    const token = createCursorCodec(secret).encode(cursor, "filter");
    expect(createCursorCodec(secret).decode(token, "filter")).toEqual(cursor);
    expect(() => createCursorCodec(new Uint8Array(32)).decode(token, "filter")).toThrow(refused);
  });

  it("are good for one filter and owner only", () => {
    const codec = createCursorCodec(secret);
    const token = codec.encode(cursor, "alice|WORKING");
    for (const binding of ["", "alice|", "alice|WORKING ", "bob|WORKING"]) {
      expect(() => codec.decode(token, binding)).toThrow(refused);
    }
  });

  it("cannot trade bytes between the id and the binding", () => {
    const codec = createCursorCodec(secret);
    const token = codec.encode({ statusMs: 1, id: "ab" }, "c");
    const shorter = Buffer.from(token, "base64url").subarray(0, -1).toString("base64url");
    expect(() => codec.decode(shorter, "bc")).toThrow(refused);
  });

  it("are refused when any character is changed, dropped or added", () => {
    const codec = createCursorCodec(secret);
    const token = codec.encode(cursor, "f");
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === "A" ? "B" : "A";
      expect(() => codec.decode(token.slice(0, at) + other + token.slice(at + 1), "f")).toThrow(refused);
      expect(() => codec.decode(token.slice(0, at) + token.slice(at + 1), "f")).toThrow(refused);
    }
    for (const added of [`${token}A`, `${token}=`, `${token}\n`, ` ${token}`, `${token}!`]) {
      expect(() => codec.decode(added, "f")).toThrow(refused);
    }
  });

  it.each(["", "a", "MTA=", "0", "50", "null", "é".repeat(40), "A".repeat(3000)])(
    "garbage is refused: %j",
    (token) => {
      expect(() => createCursorCodec(secret).decode(token, "f")).toThrow(refused);
    },
  );
});
