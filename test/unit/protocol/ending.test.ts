import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/errors.js";
import { type AbortState, CallEnding, endReason } from "../../../src/protocol/ending.js";

class TestCall extends CallEnding {
  end(reason?: unknown): void {
    this.endNow(reason);
  }
}

function createSignal(): { readonly state: AbortState; end(reason: unknown): void } {
  const controller = new AbortController();
  return { state: controller.signal, end: (reason) => controller.abort(reason) };
}

function createCall(): { readonly state: AbortState; end(reason: unknown): void } {
  const call = new TestCall();
  return { state: call, end: (reason) => call.end(reason) };
}

describe.each([
  ["an AbortSignal", createSignal],
  ["a call's ending", createCall],
])("%s", (_, create) => {
  it("tells its listeners once, in their order, with the first reason", () => {
    const { state, end } = create();
    const told: unknown[] = [];
    const object = { handleEvent: () => told.push("object", state.reason) };
    state.addEventListener("abort", () => told.push("function", state.aborted));
    state.addEventListener("abort", object);
    expect([state.aborted, state.reason]).toEqual([false, undefined]);
    end("first");
    end("second");
    expect(told).toEqual(["function", true, "object", "first"]);
    expect([state.aborted, state.reason]).toEqual([true, "first"]);
  });

  it("does not tell who came too late, or left, be it while others are told", () => {
    const { state, end } = create();
    const told: string[] = [];
    const second = () => told.push("second");
    const third = () => told.push("third");
    state.addEventListener("abort", third);
    state.removeEventListener("abort", third);
    state.removeEventListener("abort", third);
    state.addEventListener("abort", () => {
      told.push("first");
      state.removeEventListener("abort", second);
      state.addEventListener("abort", third);
    });
    state.addEventListener("abort", second);
    end("over");
    state.addEventListener("abort", third);
    expect(told).toEqual(["first"]);
  });
});

describe("the AbortSignal of a call's ending", () => {
  it("is always the same, and follows", () => {
    const call = new TestCall();
    const { signal } = call;
    let told = 0;
    signal.addEventListener("abort", () => {
      told += 1;
    });
    call.end("over");
    expect([call.signal === signal, signal.aborted, signal.reason, told]).toEqual([true, true, "over", 1]);
  });

  it("has aborted when the call had ended before", () => {
    const call = new TestCall();
    call.end("over");
    expect([call.signal.aborted, call.signal.reason]).toEqual([true, "over"]);
  });

  it("is one of the platform's own without a reason", () => {
    const call = new TestCall();
    call.end();
    expect(() => call.signal.throwIfAborted()).toThrow(expect.objectContaining({ name: "AbortError" }));
    expect(endReason(call)).toMatchObject({ reason: "CANCELLED" });
  });
});

it("ends a call with its own error, or as cancelled", () => {
  const error = new A2AError("DEADLINE_EXCEEDED");
  expect(endReason({ ...new TestCall(), reason: error } as AbortState)).toBe(error);
  expect(endReason({ ...new TestCall(), reason: new Error("gone") } as AbortState)).toMatchObject({
    reason: "CANCELLED",
  });
});
