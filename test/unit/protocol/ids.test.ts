import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/errors.js";
import { checkId, checkMessageId, newId } from "../../../src/protocol/ids.js";

function refusal(check: (field: string, value: string) => void, value: string): unknown {
  try {
    check("message.taskId", value);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

describe("checkId (S0-18)", () => {
  it.each(["a", "0", "-", "_", ":", "...", ".a", "a.", "urn:x:y-z_1.2", "A".repeat(128)])(
    "takes %j",
    (value) => {
      expect(refusal(checkId, value)).toBeUndefined();
    },
  );

  it.each([
    "",
    " ",
    ".",
    "..",
    "a b",
    "a/b",
    "a%2f",
    "a\n",
    "\na",
    "a\0",
    "é",
    "٣",
    "ſ",
    "a@b",
    "A".repeat(129),
  ])("refuses %j as INVALID_ARGUMENT naming the field", (value) => {
    const refused = refusal(checkId, value);
    expect(refused).toBeInstanceOf(A2AError);
    expect(refused).toMatchObject({ reason: "INVALID_ARGUMENT", violations: [{ field: "message.taskId" }] });
  });

  it("takes the ids that the gateway makes", () => {
    const ids = new Set(Array.from({ length: 1_000 }, newId));
    expect(ids.size).toBe(1_000);
    for (const id of ids) expect(refusal(checkId, id)).toBeUndefined();
  });

  it("makes UUIDs of version 7 that carry their time", () => {
    const before = Date.now();
    const id = newId();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const time = Number.parseInt(id.replace("-", "").slice(0, 12), 16);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(Date.now());
  });
});

describe("checkMessageId", () => {
  it.each(["a", "msg 1/2 %", "é", " a ", "x".repeat(256), "😀".repeat(256)])("takes %j", (value) => {
    expect(refusal(checkMessageId, value)).toBeUndefined();
  });

  it.each([
    "",
    " ",
    "\t",
    "\u00a0\u2003",
    "x".repeat(257),
    "😀".repeat(257),
    "a\0b",
    "a\r\nX: y",
    "a\u007f",
    "a\u0085b",
  ])("refuses %j as INVALID_ARGUMENT naming the field", (value) => {
    const refused = refusal(checkMessageId, value);
    expect(refused).toBeInstanceOf(A2AError);
    expect(refused).toMatchObject({ reason: "INVALID_ARGUMENT", violations: [{ field: "message.taskId" }] });
  });
});
