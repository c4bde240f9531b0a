import fc from "fast-check";
import { expect, it } from "vitest";
import { A2AError } from "../../src/errors.js";
import { createCursorCodec } from "../../src/protocol/cursor.js";

const codec = createCursorCodec(new Uint8Array(32).fill(9));
const cursors = fc.record({
  statusMs: fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }),
  id: fc.stringMatching(/^[A-Za-z0-9_.:-]{1,128}$/),
});

function outcome(token: string, binding: string): unknown {
  try {
    return codec.decode(token, binding);
  } catch (thrown) {
    return thrown;
  }
}

function expectRefusal(result: unknown): void {
  expect(result).toBeInstanceOf(A2AError);
  expect(result).toMatchObject({ reason: "INVALID_ARGUMENT", violations: [{ field: "pageToken" }] });
}

it("refuses every text that is no token", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.base64String({ maxLength: 300 }),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64url")),
  );
  fc.assert(
    fc.property(texts, fc.string(), (token, binding) => expectRefusal(outcome(token, binding))),
    { numRuns: 2_000 },
  );
});

it("reads what it wrote, and refuses it with any bit changed or another binding", () => {
  fc.assert(
    fc.property(cursors, fc.string(), fc.string(), fc.nat(), (cursor, binding, other, bit) => {
      const token = codec.encode(cursor, binding);
      expect(outcome(token, binding)).toEqual(cursor);
      if (other !== binding) expectRefusal(outcome(token, other));
      const bytes = Buffer.from(token, "base64url");
      const at = bit % (bytes.length * 8);
      bytes.writeUInt8(bytes.readUInt8(at >> 3) ^ (1 << (at & 7)), at >> 3);
      expectRefusal(outcome(bytes.toString("base64url"), binding));
    }),
    { numRuns: 1_000 },
  );
});
