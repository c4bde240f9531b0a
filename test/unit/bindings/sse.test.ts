import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type SseForm, type SseOptions, sse } from "../../../src/bindings/sse.js";
import { A2AError } from "../../../src/errors.js";
import { CallEnding } from "../../../src/protocol/ending.js";
import type { WireEvent } from "../../../src/protocol/event.js";
import { parseEvents } from "../../support/event-source.js";
import { eventsThen, statusEvent } from "../../support/fake-dispatcher.js";
import { bodyText } from "../../support/http-request.js";

const HEARTBEAT_MS = 1_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const FORM: SseForm = {
  write: ({ json }) => json,
  fail: ({ reason }) => reason,
  failureType: "error",
};

function options(changed: Partial<SseOptions> = {}): SseOptions {
  return {
    headers: {},
    traffic: { received: 0, sent: 0 },
    caller: new CallEnding(),
    heartbeatMs: HEARTBEAT_MS,
    form: FORM,
    ...changed,
  };
}

function bodyOf(response: { readonly body?: unknown }): AsyncIterator<string> {
  return (response.body as AsyncIterable<string>)[Symbol.asyncIterator]();
}

/** A stream whose events come when the test says so. */
function scripted() {
  const waiting: ((result: IteratorResult<WireEvent>) => void)[] = [];
  let returned = 0;
  const events: AsyncIterable<WireEvent> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((resolve) => waiting.push(resolve)),
      return: async () => {
        returned += 1;
        return { done: true, value: undefined };
      },
    }),
  };
  return {
    events,
    asked: () => waiting.length,
    returned: () => returned,
    give: (event: WireEvent) => waiting.shift()?.({ done: false, value: event }),
    end: () => waiting.shift()?.({ done: true, value: undefined }),
  };
}

describe("frames", () => {
  it("are one data line each, read by an independent parser", async () => {
    const events = [statusEvent(1), statusEvent(2), statusEvent(0)];
    const text = await bodyText(await sse(eventsThen(events), options()));
    expect(text).not.toMatch(/\r/);
    expect(text.split("\n\n")).toHaveLength(4);
    expect(parseEvents(text)).toEqual(
      events.map((event) => ({ id: event.id, event: undefined, data: event.json })),
    );
  });

  it("of no events at all are an empty body", async () => {
    expect(await bodyText(await sse(eventsThen([]), options()))).toBe("");
  });

  it("a failure after the first event is the last of them", async () => {
    const text = await bodyText(
      await sse(eventsThen([statusEvent(1)], new A2AError("UNAVAILABLE")), options()),
    );
    expect(parseEvents(text).at(-1)).toEqual({ id: undefined, event: "error", data: "UNAVAILABLE" });
  });

  it("an unknown failure is INTERNAL", async () => {
    const text = await bodyText(await sse(eventsThen([statusEvent(1)], new Error("secret")), options()));
    expect(text).not.toContain("secret");
    expect(parseEvents(text).at(-1)?.data).toBe("INTERNAL");
  });

  it("an event that cannot be written ends the stream", async () => {
    const { events, give, returned } = scripted();
    const write = (event: WireEvent) => {
      if (event.number === 2) throw new A2AError("INTERNAL");
      return event.json;
    };
    const starting = sse(events, options({ form: { ...FORM, write } }));
    give(statusEvent(1));
    const body = bodyOf(await starting);
    await body.next();
    const second = body.next();
    give(statusEvent(2));
    expect((await second).value).toBe("event: error\ndata: INTERNAL\n\n");
    expect(await body.next()).toMatchObject({ done: true });
    expect(returned()).toBe(1);
  });
});

describe("a failure before the first event", () => {
  it("rejects, so that the answer can be a plain error", async () => {
    await expect(sse(eventsThen([], new A2AError("TASK_NOT_FOUND")), options())).rejects.toMatchObject({
      reason: "TASK_NOT_FOUND",
    });
  });

  it("also when the first event cannot be written", async () => {
    const { events, give, returned } = scripted();
    const write = () => {
      throw new Error("unwritable");
    };
    const starting = sse(events, options({ form: { ...FORM, write } }));
    give(statusEvent(1));
    await expect(starting).rejects.toMatchObject({ reason: "INTERNAL" });
    expect(returned()).toBe(1);
  });
});

describe("heartbeats", () => {
  it("start with the head when the first event is late", async () => {
    const { events, give, end, asked } = scripted();
    const starting = sse(events, options());
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS - 1);
    let settled = false;
    void starting.then(() => {
      settled = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const body = bodyOf(await starting);
    expect((await body.next()).value).toBe(":\n\n");
    const second = body.next();
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    expect((await second).value).toBe(":\n\n");
    const third = body.next();
    expect(asked()).toBe(1);
    give(statusEvent(1));
    expect((await third).value).toBe(`id: t1:1\ndata: ${statusEvent(1).json}\n\n`);
    const last = body.next();
    end();
    expect(await last).toEqual({ done: true, value: undefined });
  });

  it("a failure after the head went out is in the stream", async () => {
    let fail: (error: unknown) => void = () => undefined;
    const events = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<WireEvent>>((_, reject) => (fail = reject)),
      }),
    };
    const starting = sse(events, options());
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    const body = bodyOf(await starting);
    await body.next();
    const next = body.next();
    fail(new A2AError("TASK_NOT_FOUND"));
    expect((await next).value).toBe("event: error\ndata: TASK_NOT_FOUND\n\n");
    expect(await body.next()).toMatchObject({ done: true });
  });

  it("come only while nothing else does", async () => {
    const { events, give, end } = scripted();
    const starting = sse(events, options());
    give(statusEvent(1));
    const body = bodyOf(await starting);
    await body.next();
    for (let number = 2; number < 5; number++) {
      const next = body.next();
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS - 1);
      give(statusEvent(number));
      expect((await next).value).toContain(`id: t1:${number}\n`);
    }
    const last = body.next();
    end();
    await last;
  });

  it("are comments that no client sees as events", async () => {
    const comments: string[] = [];
    expect(parseEvents(":\n\n:\n\ndata: x\n\n", comments)).toHaveLength(1);
    expect(comments).toEqual(["", ""]);
  });
});

describe("a stream that the gateway interrupts", () => {
  const deadline = new A2AError("DEADLINE_EXCEEDED");

  it("before its first event is a plain error", async () => {
    const { events, returned } = scripted();
    const gateway = new AbortController();
    const starting = sse(events, options({ caller: gateway.signal }));
    gateway.abort(deadline);
    await expect(starting).rejects.toBe(deadline);
    expect(returned()).toBe(1);
  });

  it("says why, even when an event comes at the same time", async () => {
    const { events, give } = scripted();
    const gateway = new AbortController();
    const starting = sse(events, options({ caller: gateway.signal }));
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    const body = bodyOf(await starting);
    await body.next();
    gateway.abort(deadline);
    give(statusEvent(1));
    await vi.advanceTimersByTimeAsync(0);
    expect((await body.next()).value).toBe("event: error\ndata: DEADLINE_EXCEEDED\n\n");
    expect(await body.next()).toMatchObject({ done: true });
  });
});

describe("a client that leaves", () => {
  it("while an event is awaited ends the reader and the body at once", async () => {
    const { events, give, returned } = scripted();
    const client = new AbortController();
    const starting = sse(events, options({ caller: client.signal }));
    give(statusEvent(1));
    const body = bodyOf(await starting);
    await body.next();
    const next = body.next();
    client.abort();
    expect(await next).toMatchObject({ done: true });
    expect(returned()).toBe(1);
  });

  it("before the first event ends the reader", async () => {
    const { events, returned } = scripted();
    const client = new AbortController();
    const starting = sse(events, options({ caller: client.signal }));
    client.abort();
    expect(await bodyText(await starting)).toBe("");
    expect(returned()).toBe(1);
  });

  it("before the call even began ends the reader", async () => {
    const { events, returned } = scripted();
    expect(await bodyText(await sse(events, options({ caller: AbortSignal.abort() })))).toBe("");
    expect(returned()).toBe(1);
  });

  it("by ending the body ends the reader, once", async () => {
    const { events, give, returned } = scripted();
    const starting = sse(events, options());
    give(statusEvent(1));
    const body = bodyOf(await starting);
    await body.next();
    await body.return?.();
    await body.return?.();
    expect(await body.next()).toMatchObject({ done: true });
    expect(returned()).toBe(1);
  });

  it("leaves no listener behind when the stream ends by itself", async () => {
    const client = new AbortController();
    const removed = vi.spyOn(client.signal, "removeEventListener");
    await bodyText(await sse(eventsThen([statusEvent(1)]), options({ caller: client.signal })));
    expect(removed).toHaveBeenCalledOnce();
  });
});

it("asks for an event only when the client can take one", async () => {
  const { events, give, end, asked } = scripted();
  const starting = sse(events, options());
  give(statusEvent(1));
  const body = bodyOf(await starting);
  await body.next();
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS * 3);
  expect(asked()).toBe(0);
  const next = body.next();
  expect(asked()).toBe(1);
  end();
  await next;
});
