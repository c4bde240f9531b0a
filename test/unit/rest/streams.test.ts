import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createRestBinding } from "../../../src/bindings/rest/index.js";
import type { Call, Reply } from "../../../src/core/context.js";
import { A2AError } from "../../../src/errors.js";
import { WireEvent } from "../../../src/protocol/event.js";
import { StreamResponseSchema } from "../../../src/protocol/schema.js";
import { annotatedService } from "../../support/annotated-service.js";
import { eventsThen, fakeDispatcher, statusEvent } from "../../support/fake-dispatcher.js";
import { bodyText } from "../../support/http-request.js";
import { ask, errorOf } from "./ask.js";

const message = (text: string) => {
  const value = { messageId: "m1", role: 2, parts: [{ content: { case: "text" as const, value: text } }] };
  return WireEvent.of(create(StreamResponseSchema, { payload: { case: "message", value } }));
};

function bindingOf(stream: (call: Call) => AsyncIterable<WireEvent>, headers: Record<string, string> = {}) {
  const dispatcher = fakeDispatcher((call): Reply => ({ kind: "stream", events: stream(call), headers }));
  return createRestBinding({ dispatcher, maxBytes: 1000, heartbeatMs: 10_000 });
}

/** Waits until the signal aborts, then fails as a reader of the log does. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const leave = () => reject(signal.reason instanceof A2AError ? signal.reason : new A2AError("CANCELLED"));
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave);
  });

/** A stream that ends before it begins. */
const failing = (error: A2AError): AsyncIterable<never> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
});

const envelope = (text: string) => JSON.parse(text.split("data: ").at(-1) ?? "") as { error: unknown };

afterEach(() => {
  vi.useRealTimers();
});

describe("a stream", () => {
  test("is one event with one data line for each message, with its id", async () => {
    const binding = bindingOf(
      async function* () {
        yield statusEvent(1);
        yield statusEvent(2);
      },
      { "a2a-extensions": "urn:x" },
    );
    const response = await ask(binding, "POST /message:stream");
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "a2a-extensions": "urn:x",
    });
    const data = '{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}';
    expect(await bodyText(response)).toBe(`id: t1:1\ndata: ${data}\n\nid: t1:2\ndata: ${data}\n\n`);
  });

  test("is one physical line for any text", async () => {
    const binding = bindingOf(async function* () {
      yield message("a\nb\r\u2028c");
    });
    const text = await bodyText(await ask(binding, "POST /message:stream"));
    expect(text.split(/[\n\r]/)).toHaveLength(3);
    expect(JSON.parse(text.slice("data: ".length))).toMatchObject({
      message: { parts: [{ text: "a\nb\r\u2028c" }] },
    });
  });

  test("that fails before its first event is a plain error", async () => {
    const binding = bindingOf(async function* () {
      yield* failing(new A2AError("UNSUPPORTED_OPERATION"));
    });
    const response = await ask(binding, "GET /tasks/t1:subscribe", {
      headers: { accept: "text/event-stream" },
    });
    expect(response.headers["content-type"]).toBe("application/json");
    expect(await errorOf(response)).toMatchObject({ code: 400, status: "FAILED_PRECONDITION" });
  });

  test("that fails later ends with an error event", async () => {
    const binding = bindingOf(async function* () {
      yield statusEvent(1);
      throw new A2AError("INTERNAL");
    });
    const text = await bodyText(await ask(binding, "POST /message:stream"));
    expect(text).toContain("\n\nevent: error\ndata: {");
    expect(envelope(text)).toMatchObject({ error: { code: 500, status: "INTERNAL" } });
  });

  test("whose deadline passes ends with DEADLINE_EXCEEDED", async () => {
    const binding = bindingOf(async function* ({ signal }) {
      yield statusEvent(1);
      await untilAborted(signal);
    });
    const response = await ask(binding, "POST /message:stream", { headers: { "grpc-timeout": "20m" } });
    const text = await bodyText(response);
    expect(text).toContain("event: error\n");
    expect(envelope(text)).toMatchObject({ error: { code: 504, status: "DEADLINE_EXCEEDED" } });
  });

  test("that the gateway interrupts ends with its reason", async () => {
    const host = new AbortController();
    const binding = bindingOf(async function* ({ signal }) {
      yield statusEvent(1);
      await untilAborted(signal);
    });
    const response = await ask(binding, "POST /message:stream", { signal: host.signal });
    setImmediate(() => host.abort(new A2AError("UNAVAILABLE", { text: "The gateway is shutting down." })));
    expect(envelope(await bodyText(response))).toMatchObject({ error: { code: 503, status: "UNAVAILABLE" } });
  });

  test("that is interrupted before its first event is a plain error", async () => {
    const host = new AbortController();
    const binding = bindingOf(async function* ({ signal }) {
      setImmediate(() => host.abort(new A2AError("UNAVAILABLE")));
      await untilAborted(signal);
    });
    const response = await ask(binding, "POST /message:stream", { signal: host.signal });
    expect(await errorOf(response)).toMatchObject({ code: 503 });
  });

  test("leaves no timer, however it ends", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const headers = { "grpc-timeout": "1H" };
    const client = new AbortController();
    let seen: AbortSignal | undefined;
    const left = bindingOf(async function* ({ signal }) {
      seen = signal;
      yield statusEvent(1);
      await untilAborted(signal);
    });
    const response = await ask(left, "POST /message:stream", { headers, signal: client.signal });
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    client.abort();
    await bodyText(response);
    expect(seen?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);

    const failed = bindingOf(() => eventsThen([statusEvent(1)], new A2AError("INTERNAL")));
    await bodyText(await ask(failed, "POST /message:stream", { headers }));
    const refused = bindingOf(() => failing(new A2AError("INTERNAL")));
    await ask(refused, "POST /message:stream", { headers });
    const ended = bindingOf(() => eventsThen([statusEvent(1)]));
    await bodyText(await ask(ended, "POST /message:stream", { headers }));
    expect(vi.getTimerCount()).toBe(0);
  });

  test("to HEAD is its head, and its reader is ended", async () => {
    let left = false;
    const binding = bindingOf(async function* () {
      try {
        yield statusEvent(1);
        yield statusEvent(2);
      } finally {
        left = true;
      }
    });
    const response = await ask(binding, "HEAD /tasks/t1:subscribe");
    expect([response.status, response.headers["content-type"], response.body]).toEqual([
      200,
      "text/event-stream",
      undefined,
    ]);
    await new Promise(setImmediate);
    expect(left).toBe(true);
  });

  test("is only the field that response_body names", async () => {
    const rule = { pattern: { case: "get", value: "/watch" }, responseBody: "status_update" } as const;
    const output = ".lf.a2a.v1.StreamResponse";
    const services = [annotatedService([{ rule, output, streams: "out" }])];
    const dispatcher = fakeDispatcher((): Reply => {
      async function* events() {
        yield statusEvent(1);
        yield message("x");
      }
      return { kind: "stream", events: events(), headers: {} };
    });
    const binding = createRestBinding({ dispatcher, services, maxBytes: 1000 });
    const lines = (await bodyText(await ask(binding, "GET /watch")))
      .split("\n")
      .filter((line) => line.startsWith("data"));
    expect(lines).toEqual([
      'data: {"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}',
      'data: {"taskId":"","contextId":""}',
    ]);
  });
});

test("a unary answer is never an event stream", async () => {
  const binding = createRestBinding({ dispatcher: fakeDispatcher(), maxBytes: 1000 });
  const response = await ask(binding, "GET /tasks/t1", { headers: { accept: "text/event-stream" } });
  expect(response.headers["content-type"]).toBe("application/json");
});
