import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { HttpHeaders, HttpResponse } from "../../../src/bindings/http.js";
import { createJsonRpcBinding } from "../../../src/bindings/jsonrpc/index.js";
import { A2AError } from "../../../src/errors.js";
import { parseEvents } from "../../support/event-source.js";
import {
  eventsThen,
  type FakeDispatcher,
  fakeDispatcher,
  statusEvent,
  streamReply,
} from "../../support/fake-dispatcher.js";
import { bodyText, httpRequest } from "../../support/http-request.js";

const GET_TASK = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t1"}}';
const SUBSCRIBE = '{"jsonrpc":"2.0","id":"s","method":"SubscribeToTask","params":{"id":"t1"}}';
const TASK = '{"jsonrpc":"2.0","id":1,"result":{"id":"t1"}}';

interface Post {
  readonly target?: string;
  readonly method?: string;
  readonly headers?: HttpHeaders;
  readonly body?: string | Uint8Array;
  readonly dispatcher?: FakeDispatcher;
}

function offer({ target = "/", body = GET_TASK, dispatcher = fakeDispatcher(), ...init }: Post) {
  return createJsonRpcBinding({ dispatcher, maxBytes: 1_000 })(httpRequest(target, { body, ...init }));
}

async function post(init: Post = {}): Promise<HttpResponse & { readonly text: string }> {
  const response = await offer(init);
  if (response === undefined) throw new Error("the binding did not take it");
  return { ...response, text: await bodyText(response) };
}

function failing(error: A2AError): FakeDispatcher {
  return fakeDispatcher(() => {
    throw error;
  });
}

describe("S0-05 where it answers", () => {
  const tenants = ["acme", "a b", "a/b"];

  it.each([
    ["/", undefined],
    ["", undefined],
    ["/?x=1", undefined],
    ["/acme", "acme"],
    ["/acme/", "acme"],
    ["/acme?x", "acme"],
    ["/a%20b", "a b"],
    ["/a%2Fb", "a/b"],
    ["/%61cme", "acme"],
  ])("POST %j", async (target, tenant) => {
    const dispatcher = fakeDispatcher(undefined, tenants);
    expect((await post({ target, dispatcher })).text).toBe(TASK);
    expect(dispatcher.calls[0]?.addressTenant).toBe(tenant);
  });

  it.each([
    "/other",
    "//",
    "/acme//",
    "//acme",
    "/acme/x",
    "/a%2520b",
    "/%zz",
    "/%ff",
    "/message:send",
    "/tasks",
    "*",
  ])("not at %s", (target) => {
    const dispatcher = fakeDispatcher(undefined, tenants);
    expect(offer({ target, dispatcher })).toBeUndefined();
    expect(offer({ target, dispatcher, method: "GET" })).toBeUndefined();
  });

  it("leaves OPTIONS to the host", () => {
    expect(offer({ method: "OPTIONS" })).toBeUndefined();
  });

  it.each(["GET", "HEAD", "PUT", "DELETE"])("%s is not allowed", async (method) => {
    const dispatcher = fakeDispatcher(undefined, ["acme"]);
    for (const target of ["/", "/acme"]) {
      const response = await post({ method, target, dispatcher });
      expect(response.status).toBe(405);
      expect(response.headers).toEqual({ "content-type": "application/json", allow: "POST, OPTIONS" });
      expect(JSON.parse(response.text)).toMatchObject({ error: { code: 405, status: "UNIMPLEMENTED" } });
    }
    expect(dispatcher.refusals.map(({ error }) => error.reason)).toEqual([
      "METHOD_NOT_ALLOWED",
      "METHOD_NOT_ALLOWED",
    ]);
  });
});

describe("the request", () => {
  it.each([
    "application/json",
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
    "application/json-rpc+json",
    "application/a2a+json",
    undefined,
    "",
  ])("of type %j is read", async (type) => {
    const response = await post({ headers: { "content-type": type } });
    expect(response.text).toBe(TASK);
    expect(response.status).toBe(200);
    expect(response.headers).toEqual({ "content-type": "application/json" });
  });

  it.each([
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin1",
    "application/jsonx",
    "json",
  ])("of type %j is refused", async (type) => {
    const dispatcher = fakeDispatcher();
    const response = await post({ headers: { "content-type": type }, dispatcher });
    expect(response.status).toBe(200);
    expect(JSON.parse(response.text)).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32005, data: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }] },
    });
    expect(dispatcher.calls).toEqual([]);
    expect(dispatcher.refusals).toHaveLength(1);
  });

  it("B39: packed with gzip", async () => {
    expect((await post({ body: gzipSync(GET_TASK), headers: { "content-encoding": "gzip" } })).text).toBe(
      TASK,
    );
  });

  it("B41: over the limit is a 413 that is still JSON-RPC", async () => {
    const response = await post({ body: " ".repeat(1_001) });
    expect(response.status).toBe(413);
    expect(response.text).toBe(
      '{"jsonrpc":"2.0","id":null,"error":{"code":-31429,"message":"The body is larger than 1000 bytes."}}',
    );
  });

  it("without a body is malformed", async () => {
    const response = await post({ body: "" });
    expect(response.status).toBe(200);
    expect(JSON.parse(response.text)).toMatchObject({ id: null, error: { code: -32700 } });
  });

  it.each([
    ["/?A2A-Version=1.0", "1.0"],
    ["/?x=1&a2a-version=0.3", "0.3"],
    ["/?A2A-Version=", ""],
    ["/?version=1.0", undefined],
    ["/", undefined],
  ])("S1-05 %s carries the version %j", async (target, version) => {
    const dispatcher = fakeDispatcher();
    await post({ target, dispatcher });
    expect(dispatcher.calls[0]?.queryVersion).toBe(version);
  });

  it("its headers are the call's parameters", async () => {
    const dispatcher = fakeDispatcher();
    await post({ headers: { "a2a-version": "1.0", "a2a-extensions": ["a", "b"] }, dispatcher });
    const parameters = dispatcher.calls[0]?.parameters;
    expect([parameters?.("a2a-version"), parameters?.("a2a-extensions")]).toEqual(["1.0", "a, b"]);
  });
});

describe("the HTTP status", () => {
  it.each([
    ["TASK_NOT_FOUND", 200],
    ["INVALID_ARGUMENT", 200],
    ["PERMISSION_DENIED", 200],
    ["INTERNAL", 200],
    ["DEADLINE_EXCEEDED", 200],
    ["UNAUTHENTICATED", 401],
    ["TOO_LARGE", 413],
    ["RESOURCE_EXHAUSTED", 429],
    ["UNAVAILABLE", 503],
  ] as const)("of %s is %d", async (reason, status) => {
    const response = await post({ dispatcher: failing(new A2AError(reason)) });
    expect(response.status).toBe(status);
    expect(JSON.parse(response.text)).toMatchObject({
      jsonrpc: "2.0",
      id: 1,
      error: { code: expect.any(Number) },
    });
  });

  it("comes with the headers of the outcome", async () => {
    const unauthenticated = new A2AError("UNAUTHENTICATED", { headers: { "www-authenticate": "Bearer" } });
    expect((await post({ dispatcher: failing(unauthenticated) })).headers).toMatchObject({
      "www-authenticate": "Bearer",
    });
    const busy = new A2AError("UNAVAILABLE", { retryAfterMs: 1_200 });
    expect((await post({ dispatcher: failing(busy) })).headers).toMatchObject({ "retry-after": "2" });
  });
});

describe("a stream (S2-05)", () => {
  const subscribe = (dispatcher: FakeDispatcher) => post({ body: SUBSCRIBE, dispatcher });

  it("has one data line an event, with the caller's id", async () => {
    const events = [statusEvent(1), statusEvent(2)];
    const response = await subscribe(fakeDispatcher(() => streamReply(eventsThen(events))));
    expect(response.status).toBe(200);
    expect(response.headers).toEqual({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "a2a-extensions": "urn:x",
    });
    expect(parseEvents(response.text)).toEqual(
      events.map(({ json, number }) => ({
        event: undefined,
        id: `t1:${number}`,
        data: `{"jsonrpc":"2.0","id":"s","result":${json}}`,
      })),
    );
  });

  it("that fails before its first event is an ordinary error", async () => {
    const response = await subscribe(
      fakeDispatcher(() => streamReply(eventsThen([], new A2AError("TASK_NOT_FOUND")))),
    );
    expect(response.headers).toEqual({ "content-type": "application/json" });
    expect(JSON.parse(response.text)).toMatchObject({ id: "s", error: { code: -32001 } });
  });

  it("that may not start has the HTTP status of its error", async () => {
    const response = await subscribe(
      fakeDispatcher(() => streamReply(eventsThen([], new A2AError("UNAVAILABLE")))),
    );
    expect(response.status).toBe(503);
  });

  it("that fails later ends with an error object", async () => {
    const events = eventsThen([statusEvent(1)], new A2AError("UNAVAILABLE"));
    const response = await subscribe(fakeDispatcher(() => streamReply(events)));
    expect(response.status).toBe(200);
    const [, last, ...rest] = parseEvents(response.text);
    expect(rest).toEqual([]);
    expect(last).toMatchObject({ id: undefined, event: undefined });
    expect(JSON.parse(last?.data ?? "")).toEqual({
      jsonrpc: "2.0",
      id: "s",
      error: { code: -31503, message: "The gateway is not available." },
    });
  });

  it("sends nothing but its own bytes into the count", async () => {
    const dispatcher = fakeDispatcher(() => streamReply(eventsThen([statusEvent(1)])));
    const response = await subscribe(dispatcher);
    expect(dispatcher.calls[0]?.traffic).toEqual({
      received: Buffer.byteLength(SUBSCRIBE),
      sent: Buffer.byteLength(response.text),
    });
  });
});
