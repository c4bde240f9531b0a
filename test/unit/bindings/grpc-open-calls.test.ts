import { EventEmitter } from "node:events";
import { Metadata } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createOpenCalls, type GrpcCall, type OpenCall } from "../../../src/bindings/grpc/open-calls.js";

const DAY_MS = 86_400_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function openWith(deadline: number): OpenCall {
  const call = Object.assign(new EventEmitter(), {
    metadata: new Metadata(),
    cancelled: false,
    getDeadline: () => deadline,
    sendMetadata: () => undefined,
  }) satisfies GrpcCall;
  return createOpenCalls().add(call);
}

describe("the deadline of a call", () => {
  it("ends it, and is watched once somebody wants to know", () => {
    const call = openWith(Date.now() + 1000);
    expect(vi.getTimerCount()).toBe(0);
    expect(call.aborted).toBe(false);
    vi.advanceTimersByTime(1000);
    expect(call.reason).toMatchObject({ reason: "DEADLINE_EXCEEDED" });
  });

  it.each([
    ["none", Number.POSITIVE_INFINITY],
    ["one further away than timers reach", Date.now() + 30 * DAY_MS],
  ])("%s never comes", (_, deadline) => {
    const call = openWith(deadline);
    expect(call.aborted).toBe(false);
    vi.advanceTimersByTime(DAY_MS);
    expect([call.aborted, vi.getTimerCount()]).toEqual([false, 0]);
  });
});
