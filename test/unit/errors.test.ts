import { describe, expect, it, vi } from "vitest";
import { A2AError, CODES, ERRORS } from "../../src/errors.js";

describe("A2AError.from", () => {
  it("takes an error of another copy of the module for one of ours", async () => {
    vi.resetModules();
    const other = await import("../../src/errors.js");
    expect(other.A2AError).not.toBe(A2AError);
    const options = { text: "No pictures.", metadata: { type: "image/png" }, retryAfterMs: 5 };
    const error = A2AError.from(new other.A2AError("CONTENT_TYPE_NOT_SUPPORTED", options));
    expect(error).toBeInstanceOf(A2AError);
    expect(error).toMatchObject({
      reason: "CONTENT_TYPE_NOT_SUPPORTED",
      message: "No pictures.",
      metadata: options.metadata,
    });
    expect(error.retryAfterMs).toBe(5);
    expect(error.errorId).toBeUndefined();
  });

  it("never sends the text of anything else", () => {
    for (const thrown of [
      new Error("secret"),
      "secret",
      { reason: "TASK_NOT_FOUND", message: "secret" },
      null,
    ]) {
      const error = A2AError.from(thrown);
      expect(error.reason).toBe("INTERNAL");
      expect(error.message).toBe("Internal error.");
      expect(error.cause).toBe(thrown);
      expect(error.errorId).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe("the error table (S1-04)", () => {
  it("has the nine errors of the specification with their numbers", () => {
    const nine = [...ERRORS.values()].filter((row) => row.info === row.reason);
    expect(nine.map((row) => [row.reason, row.jsonrpc, row.code, row.http])).toEqual([
      ["TASK_NOT_FOUND", -32001, "NOT_FOUND", 404],
      ["TASK_NOT_CANCELABLE", -32002, "FAILED_PRECONDITION", 400],
      ["PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, "FAILED_PRECONDITION", 400],
      ["UNSUPPORTED_OPERATION", -32004, "FAILED_PRECONDITION", 400],
      ["CONTENT_TYPE_NOT_SUPPORTED", -32005, "INVALID_ARGUMENT", 400],
      ["INVALID_AGENT_RESPONSE", -32006, "INTERNAL", 500],
      ["EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, "FAILED_PRECONDITION", 400],
      ["EXTENSION_SUPPORT_REQUIRED", -32008, "FAILED_PRECONDITION", 400],
      ["VERSION_NOT_SUPPORTED", -32009, "FAILED_PRECONDITION", 400],
    ]);
  });

  it("takes gRPC numbers and HTTP statuses from the code, but for outcomes that exist in HTTP only", () => {
    for (const row of ERRORS.values()) {
      expect(row.grpc).toBe(CODES[row.code].number);
      if (row.http !== CODES[row.code].http) expect([405, 408, 413, 414, 415, 431]).toContain(row.http);
    }
  });
});
