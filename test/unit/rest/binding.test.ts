import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { createRestBinding, type RestBindingOptions } from "../../../src/bindings/rest/index.js";
import type { Call, Reply } from "../../../src/core/context.js";
import { A2AError } from "../../../src/errors.js";
import { CallEnding } from "../../../src/protocol/ending.js";
import { ListTasksResponseSchema, TaskSchema } from "../../../src/protocol/schema.js";
import { annotatedService } from "../../support/annotated-service.js";
import { fakeDispatcher } from "../../support/fake-dispatcher.js";
import { bodyText } from "../../support/http-request.js";
import { testService } from "../../support/test-protos.js";
import { ask, emptyReply, errorOf, unaryReply } from "./ask.js";

type Answer = (call: Call) => Reply | Promise<Reply>;

function bindingOf(answer: Answer = emptyReply, options: Partial<RestBindingOptions> = {}) {
  const dispatcher = fakeDispatcher(answer);
  return { dispatcher, binding: createRestBinding({ dispatcher, maxBytes: 10_000, ...options }) };
}

const rulesOf = (answer?: Answer) => bindingOf(answer, { services: [testService("RulesService")] });

/** Answers every call with this message. */
const reply =
  (json: JsonValue, headers: Record<string, string> = {}): Answer =>
  ({ method }) =>
    unaryReply(fromJson(method.output, json), headers);

const fails =
  (...error: ConstructorParameters<typeof A2AError>): Answer =>
  () =>
    Promise.reject(new A2AError(...error));

describe("an answer", () => {
  test("S1-03: is ProtoJSON with the REQUIRED fields", async () => {
    const { binding } = bindingOf(() => unaryReply(create(ListTasksResponseSchema)));
    const response = await ask(binding, "GET /tasks");
    expect(response.status).toBe(200);
    expect(await bodyText(response)).toBe('{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}');
  });

  test("of an empty message is an empty object", async () => {
    const { binding } = bindingOf();
    const response = await ask(binding, "DELETE /tasks/t1/pushNotificationConfigs/c1");
    expect([response.status, await bodyText(response)]).toEqual([200, "{}"]);
  });

  test("bears the headers of the reply, and its own media type", async () => {
    const { binding } = bindingOf(reply({}, { "a2a-extensions": "urn:x", "content-type": "text/html" }));
    const { headers } = await ask(binding, "GET /tasks/t1");
    expect(headers).toMatchObject({ "a2a-extensions": "urn:x", "content-type": "application/json" });
  });

  test.each<[accept: string | undefined, contentType: string | undefined, type: string]>([
    [undefined, undefined, "application/json"],
    ["*/*", undefined, "application/json"],
    ["application/json", undefined, "application/json"],
    ["application/a2a+json", undefined, "application/a2a+json"],
    ["text/event-stream", undefined, "application/json"],
    ["text/html", "application/json", "application/json"],
    ["application/json, application/a2a+json", undefined, "application/a2a+json"],
    ["Application/A2A+JSON;q=0.5", undefined, "application/a2a+json"],
    ["application/a2a+json;q=0", "application/a2a+json", "application/json"],
    ["application/json;q=1, application/a2a+json;q=0.9", undefined, "application/json"],
    ["application/a2a+json;q=x", undefined, "application/json"],
    [undefined, "application/a2a+json; charset=utf-8", "application/a2a+json"],
    ["*/*", "application/a2a+json", "application/a2a+json"],
    ["text/event-stream", "application/a2a+json", "application/a2a+json"],
    ["application/json", "application/a2a+json", "application/json"],
  ])("to accept %s and content-type %s is %s", async (accept, contentType, type) => {
    const { binding } = bindingOf(fails("INTERNAL"));
    const headers = { ...(accept && { accept }), ...(contentType && { "content-type": contentType }) };
    const failed = await ask(binding, "POST /message:send", { headers });
    expect(failed.headers["content-type"]).toBe(type);
    const { headers: answered } = await ask(bindingOf().binding, "POST /message:send", { headers });
    expect(answered["content-type"]).toBe(type);
  });

  const large = { id: "t1", contextId: "c".repeat(5000) };
  test.each([
    ["gzip", large, true],
    ["deflate, gzip;q=0.5", large, true],
    ["x-gzip", large, true],
    ["*", large, true],
    ["gzip;q=0, identity", large, false],
    ["gzip;q=0, *", large, false],
    ["identity", large, false],
    ["", large, false],
    ["gzip", { id: "t1" }, false],
  ])("to accept-encoding %j", async (encoding, json, compressed) => {
    const { binding } = bindingOf(reply(json));
    const response = await ask(binding, "GET /tasks/t1", { headers: { "accept-encoding": encoding } });
    expect(response.headers["content-encoding"]).toBe(compressed ? "gzip" : undefined);
    expect(response.headers.vary).toBe("accept, accept-encoding");
    const text = compressed ? gunzipSync(response.body as Uint8Array).toString() : await bodyText(response);
    expect(JSON.parse(text)).toMatchObject(json);
  });

  test.each([
    ["/part/book", { book: { id: "b", title: "T" }, count: 1 }, '{"id":"b","title":"T"}'],
    ["/part/book", {}, "{}"],
    ["/part/tags", { tags: ["a"] }, '["a"]'],
    ["/part/tags", {}, "[]"],
    ["/part/count", { count: 7 }, "7"],
    ["/part/count", {}, "0"],
    ["/part/labels", { labels: { a: "5" } }, '{"a":"5"}'],
    ["/part/labels", {}, "{}"],
    ["/part/big", { big: "9007199254740993" }, '"9007199254740993"'],
    ["/part/big", {}, '"0"'],
  ])("%s is one field of the message %j", async (target, json, text) => {
    const { binding } = rulesOf(reply(json));
    expect(await bodyText(await ask(binding, `GET ${target}`))).toBe(text);
  });

  test("of google.api.HttpBody is its bytes", async () => {
    const { binding } = rulesOf(reply({ contentType: "image/png", data: "/wB7" }));
    const response = await ask(binding, "POST /raw", { headers: { "content-type": "image/png" }, body: "x" });
    expect(response.headers["content-type"]).toBe("image/png");
    expect(response.body).toEqual(Uint8Array.of(0xff, 0x00, 0x7b));
  });

  test.each([
    [{ file: { contentType: "text/css", data: "YQ==" } }, "text/css", "a"],
    [{ file: { data: "YQ==" } }, "application/octet-stream", "a"],
    [{}, "application/octet-stream", ""],
  ])("of a field of google.api.HttpBody, %j, is its bytes", async (json, type, text) => {
    const { binding } = rulesOf(reply(json));
    const response = await ask(binding, "PUT /raw/n");
    expect([response.headers["content-type"], await bodyText(response)]).toEqual([type, text]);
  });

  test("to HEAD has the headers of GET and no body", async () => {
    const { binding, dispatcher } = bindingOf(reply({ id: "t1" }));
    const got = await ask(binding, "GET /tasks/t1");
    const { status, headers, body } = await ask(binding, "HEAD /tasks/t1");
    const length = String(Buffer.byteLength(await bodyText(got)));
    expect({ status, headers, body }).toEqual({
      status: 200,
      headers: { ...got.headers, "content-length": length },
      body: undefined,
    });
    expect(dispatcher.calls).toHaveLength(2);
  });

  test("to OPTIONS needs no call", async () => {
    const { binding, dispatcher } = bindingOf();
    const response = await ask(binding, "OPTIONS /tasks/t1/pushNotificationConfigs");
    expect(response).toEqual({ status: 204, headers: { allow: "GET, HEAD, POST, OPTIONS" } });
    expect(dispatcher.calls).toEqual([]);
  });
});

describe("a call", () => {
  test("carries what the request says beside its message", async () => {
    const { binding, dispatcher } = bindingOf();
    const headers = { "a2a-extensions": "urn:x", authorization: "Bearer x" };
    await ask(binding, "GET /acme/tasks/t1?A2A-Version=1.0", { headers });
    const [call] = dispatcher.calls;
    expect(call).toMatchObject({ wire: "rest", queryVersion: "1.0", request: { tenant: "acme", id: "t1" } });
    expect(call?.method.name).toBe("GetTask");
    expect(call?.parameters("a2a-extensions")).toBe("urn:x");
    expect(call?.addressTenant).toBeUndefined();
  });

  test("counts its bytes", async () => {
    const { binding, dispatcher } = bindingOf(reply({ id: "t1" }));
    const response = await ask(binding, "POST /tasks/t1:cancel", { body: '{"metadata":{}}' });
    expect(dispatcher.calls[0]?.traffic).toEqual({
      received: 15,
      sent: Buffer.byteLength(await bodyText(response)),
    });
  });

  test.each([
    ["application/json", true],
    ["application/json; charset=UTF-8", true],
    ['application/json;charset="utf-8"; profile=x', true],
    ["application/a2a+json", true],
    ["application/vnd.example.v1+json", true],
    ["APPLICATION/JSON", true],
    ["", true],
    ["application/json; charset=latin1", false],
    ["application/json; charset=utf-16", false],
    ["application/jsonp", false],
    ["+json", false],
    ["text/plain", false],
    ["application/x-www-form-urlencoded", false],
    ["multipart/form-data; boundary=x", false],
    ["application/x-protobuf", false],
  ])("with a body of %s", async (type, taken) => {
    const { binding, dispatcher } = bindingOf();
    const sent = { headers: { "content-type": type }, body: "{}" };
    const response = await ask(binding, "POST /message:send", sent);
    expect(response.status).toBe(taken ? 200 : 415);
    if (!taken) {
      expect(dispatcher.refusals.map(({ error }) => error.reason)).toEqual(["MEDIA_TYPE_NOT_SUPPORTED"]);
      expect(await errorOf(response)).toMatchObject({ details: [{ reason: "CONTENT_TYPE_NOT_SUPPORTED" }] });
    }
  });

  test("does not mind a media type without a body", async () => {
    const { binding } = bindingOf();
    const headers = { "content-type": "text/plain" };
    expect((await ask(binding, "POST /tasks/t1:cancel", { headers })).status).toBe(200);
    expect((await ask(binding, "GET /tasks/t1", { headers, body: "x" })).status).toBe(200);
  });

  test.each([
    [{ "content-encoding": "gzip" }, gzipSync('{"metadata":{"a":1}}'), 200],
    [{ "content-encoding": "GZIP" }, gzipSync('{"metadata":{"a":1}}'), 200],
    [{ "content-encoding": "gzip" }, Buffer.from("{}"), 400],
    [{ "content-encoding": "br" }, Buffer.from("{}"), 415],
    [{ "content-encoding": "gzip" }, gzipSync(JSON.stringify({ metadata: { a: "x".repeat(20_000) } })), 413],
    [{}, Buffer.from(JSON.stringify({ metadata: { a: "x".repeat(20_000) } })), 413],
    [{}, Buffer.from('{"id":"t1","id":"t1"}'), 400],
    [{}, Buffer.from('{"metadata":{"a":"\\ud800"}}'), 400],
    [{}, Buffer.from([0x7b, 0xff, 0x7d]), 400],
  ])("with a body that is %j %#", async (headers, body, status) => {
    const { binding } = bindingOf();
    const response = await ask(binding, "POST /tasks/t1:cancel", { headers, body });
    expect(response.status).toBe(status);
  });

  test("whose body nobody reads has it drained, not parsed", async () => {
    const { binding, dispatcher } = bindingOf();
    let closed = false;
    let read = false;
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          read = true;
          return { done: true as const, value: undefined };
        },
        return: async () => {
          closed = true;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const request = {
      method: "GET",
      target: "/tasks/t1",
      httpVersion: 1 as const,
      caller: new CallEnding(),
    };
    await binding({ ...request, headers: { "content-length": "1000000000" }, body: () => body });
    expect({ closed, read }).toEqual({ closed: true, read: false });
    expect(dispatcher.calls).toHaveLength(1);
  });
});

describe("a deadline", () => {
  test.each([
    ["250m", 250],
    ["1S", 1000],
    ["2M", 120_000],
    ["1H", 3_600_000],
    ["1500u", 2],
    ["1n", 1],
    ["99999999H", Number.POSITIVE_INFINITY],
  ])("grpc-timeout: %s reaches the call", async (text, ms) => {
    const { binding, dispatcher } = bindingOf(({ signal, method }) => {
      if (ms > 10) return unaryReply(create(method.output));
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const response = await ask(binding, "GET /tasks/t1", { headers: { "grpc-timeout": text } });
    expect(response.status).toBe(ms > 10 ? 200 : 504);
    expect(dispatcher.calls).toHaveLength(1);
  });

  test.each(["soon", "", "250", "m", "-1S", "1.5S", "123456789m", "1s", "1S, 2S"])(
    "grpc-timeout: %j is refused",
    async (text) => {
      const { binding, dispatcher } = bindingOf();
      const response = await ask(binding, "GET /tasks/t1", { headers: { "grpc-timeout": text } });
      expect(response.status).toBe(400);
      expect(await errorOf(response)).toMatchObject({
        status: "INVALID_ARGUMENT",
        message: 'grpc-timeout: expected digits and a unit, such as "250m".',
      });
      expect(dispatcher.calls).toEqual([]);
    },
  );

  test("that is over before the call starts ends it", async () => {
    const { binding, dispatcher } = bindingOf();
    const response = await ask(binding, "GET /tasks/t1", { headers: { "grpc-timeout": "0m" } });
    expect(await errorOf(response)).toMatchObject({ code: 504, status: "DEADLINE_EXCEEDED" });
    expect(dispatcher.calls).toEqual([]);
  });

  test("does not keep the client's own going from ending the call", async () => {
    const client = new AbortController();
    const { binding } = bindingOf(async ({ signal }) => {
      client.abort();
      expect(signal.aborted).toBe(true);
      throw new A2AError("CANCELLED");
    });
    const sent = { headers: { "grpc-timeout": "1H" }, signal: client.signal };
    expect((await ask(binding, "GET /tasks/t1", sent)).status).toBe(499);
  });
});

describe("S1-04: a failure", () => {
  test("is the envelope of its row", async () => {
    const { binding } = bindingOf(fails("TASK_NOT_FOUND", { metadata: { taskId: "t1" } }));
    const response = await ask(binding, "GET /tasks/t1");
    expect(response.status).toBe(404);
    expect(JSON.parse(await bodyText(response))).toEqual({
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "Task not found.",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
            metadata: { taskId: "t1" },
          },
        ],
      },
    });
  });

  test.each([
    [fails("UNAVAILABLE", { retryAfterMs: 1200 }), 503, { "retry-after": "2" }],
    [fails("RESOURCE_EXHAUSTED", { retryAfterMs: 0 }), 429, { "retry-after": "0" }],
    [
      fails("UNAUTHENTICATED", { headers: { "www-authenticate": "Bearer" } }),
      401,
      { "www-authenticate": "Bearer" },
    ],
    [fails("METHOD_NOT_FOUND"), 501, {}],
  ])("brings its headers %#", async (answer, status, headers) => {
    const response = await ask(bindingOf(answer).binding, "GET /tasks/t1");
    expect(response.status).toBe(status);
    expect(response.headers).toEqual({ ...headers, "content-type": "application/json" });
  });

  test("in a message that cannot be written is INTERNAL, and is reported", async () => {
    const timestamp = { seconds: 10n ** 15n, nanos: 0 }; // beyond the year 9999
    const broken = create(TaskSchema, { status: { state: 2, timestamp } });
    const { binding, dispatcher } = bindingOf(() => unaryReply(broken));
    const response = await ask(binding, "GET /tasks/t1");
    expect(await errorOf(response)).toMatchObject({ code: 500, status: "INTERNAL" });
    expect(dispatcher.refusals).toHaveLength(1);
  });

  test.each([
    ["PUT /tasks/t1", "METHOD_NOT_ALLOWED", 405],
    ["GET /tasks/%zz", "INVALID_ARGUMENT", 400],
    ["GET /tasks?pageSize=x", "INVALID_ARGUMENT", 400],
    [`GET /tasks?pageToken=${"x".repeat(20_000)}`, "TARGET_TOO_LONG", 414],
  ])("to be a call, %.30s, is reported", async (line, reason, status) => {
    const { binding, dispatcher } = bindingOf();
    const response = await ask(binding, line);
    expect(response.status).toBe(status);
    expect(dispatcher.refusals.map(({ error }) => error.reason)).toEqual([reason]);
    expect((await errorOf(response)).code).toBe(status);
  });

  test("names the field", async () => {
    const response = await ask(bindingOf().binding, "GET /tasks?pageSize=x");
    expect(await errorOf(response)).toMatchObject({
      message: "pageSize: expected a 32-bit integer",
      details: [{ fieldViolations: [{ field: "pageSize", description: "expected a 32-bit integer" }] }],
    });
  });

  test("to HEAD has no body either", async () => {
    const response = await ask(bindingOf(fails("TASK_NOT_FOUND")).binding, "HEAD /tasks/t1");
    expect([response.status, response.body]).toEqual([404, undefined]);
  });
});

test("what is nobody's is left to others", () => {
  const { binding, dispatcher } = bindingOf();
  const request = {
    httpVersion: 1 as const,
    headers: {},
    caller: new CallEnding(),
    body: noBody,
  };
  for (const target of ["/", "/health", "/.well-known/agent-card.json", "/lf.a2a.v1.A2AService/GetTask"]) {
    for (const method of ["GET", "POST", "OPTIONS"])
      expect(binding({ ...request, method, target })).toBeUndefined();
  }
  expect(dispatcher.refusals).toEqual([]);
});

test("warnings about annotations are told", () => {
  const told: string[] = [];
  const rule = { pattern: { case: "get", value: "/a" }, body: "*" } as const;
  bindingOf(undefined, { services: [annotatedService([{ rule }])], warn: (text) => told.push(text) });
  expect(told).toEqual(['made.up.v1.Service.A, template "/a": many clients send no body with GET']);
});

async function* noBody(): AsyncGenerator<Uint8Array, void> {}
