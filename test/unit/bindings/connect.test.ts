import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import type { Call, Reply } from "../../../src/core/context.js";
import { A2AError } from "../../../src/errors.js";
import {
  A2AService,
  ErrorInfoSchema,
  GetTaskRequestSchema,
  ListTasksResponseSchema,
  StreamResponseSchema,
  TaskSchema,
} from "../../../src/protocol/schema.js";
import { eventsThen, statusEvent, streamReply } from "../../support/fake-dispatcher.js";
import { bytesOf, createHttpClient, type HttpAnswer, textOf } from "../../support/http-client.js";
import { createIdleEvents, type RpcHosts, richError, startRpcHosts } from "../../support/rpc-host.js";
import { frame } from "../../support/wires/connect-json.js";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

type Answering = (call: Call) => Reply | Promise<Reply>;

async function start(answer?: Answering): Promise<RpcHosts> {
  const hosts = await startRpcHosts(answer ? { answer } : {});
  cleanUps.push(hosts.close);
  return hosts;
}

const TRANSPORTS = {
  "connect, JSON": [createConnectTransport, { useBinaryFormat: false }],
  "connect, protobuf": [createConnectTransport, { useBinaryFormat: true }],
  "gRPC-Web, protobuf": [createGrpcWebTransport, { useBinaryFormat: true }],
  "gRPC-Web, JSON": [createGrpcWebTransport, { useBinaryFormat: false }],
  "gRPC, protobuf": [createGrpcTransport, { useBinaryFormat: true }],
  "gRPC, JSON": [createGrpcTransport, { useBinaryFormat: false }],
} as const;
type Name = keyof typeof TRANSPORTS;
const WAYS = (Object.keys(TRANSPORTS) as Name[]).flatMap((name) => [
  [name, "1.1"] as const,
  [name, "2"] as const,
]);

function transportOf(
  { httpPort }: RpcHosts,
  name: Name,
  httpVersion: "1.1" | "2",
  more: object = {},
): Transport {
  const [createTransport, options] = TRANSPORTS[name];
  return createTransport({ baseUrl: `http://127.0.0.1:${httpPort}`, httpVersion, ...options, ...more });
}

interface Post {
  readonly type?: string;
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Record<string, string>;
  readonly version?: 1 | 2;
}

/** A request as a client of one's own would write it. */
async function ask({ httpPort }: RpcHosts, post: Post): Promise<HttpAnswer> {
  const client = createHttpClient({ host: "127.0.0.1", port: httpPort }, post.version ?? 1);
  cleanUps.push(client.close);
  const type = post.type ?? "application/json";
  return client.ask({
    method: post.method ?? "POST",
    path: `/lf.a2a.v1.A2AService/${post.path ?? "GetTask"}`,
    headers: { ...(type === "" ? {} : { "content-type": type }), ...post.headers },
    body: post.body ?? "{}",
  });
}

interface Envelope {
  readonly flags: number;
  readonly data: Buffer;
}

function envelopes(bytes: Buffer): Envelope[] {
  const out: Envelope[] = [];
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) {
    out.push({
      flags: bytes.readUInt8(at),
      data: bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1)),
    });
  }
  return out;
}

const getTask = (id: string) =>
  Buffer.from(toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id })));

describe.each(WAYS)("%s over HTTP/%s", (name, version) => {
  it("answers a unary call, headers both ways (S1-01, S1-07)", async () => {
    const hosts = await start((call) => ({
      kind: "unary",
      message: create(TaskSchema, { id: "t1", contextId: call.parameters("a2a-extensions") ?? "" }),
      headers: { "a2a-extensions": "urn:x" },
    }));
    let header: Headers | undefined;
    const client = createClient(A2AService, transportOf(hosts, name, version));
    const headers = { "a2a-extensions": "urn:x" };
    const task = await client.getTask({ id: "t1" }, { headers, onHeader: (given) => (header = given) });
    expect(task).toMatchObject({ id: "t1", contextId: "urn:x" });
    expect(header?.get("a2a-extensions")).toBe("urn:x");
    const wire = name.startsWith("connect") ? "connect" : name.startsWith("gRPC-Web") ? "grpc-web" : "grpc";
    expect(hosts.dispatcher.calls[0]).toMatchObject({ wire, impliedVersion: "1.0", request: { id: "t1" } });
    expect(hosts.dispatcher.calls[0]?.traffic.sent).toBeGreaterThan(0);
  });

  it("carries an error with all its details (S1-04)", async () => {
    const hosts = await start(() => Promise.reject(richError()));
    const client = createClient(A2AService, transportOf(hosts, name, version));
    const error = await client.getTask({ id: "t1" }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConnectError);
    expect([error.code, error.rawMessage]).toEqual([Code.NotFound, richError().message]);
    const [info] = error.findDetails(ErrorInfoSchema);
    expect(info).toMatchObject({ reason: "TASK_NOT_FOUND", metadata: { taskId: "t1" } });
    expect(error.details).toHaveLength(4);
    expect(error.metadata.get("retry-after")).toBe("2");
  });

  it("streams, and says how the stream ended", async () => {
    const hosts = await start((call) =>
      streamReply(
        eventsThen([statusEvent(1), statusEvent(2)], call.parameters("x-fail") ? richError() : undefined),
      ),
    );
    const client = createClient(A2AService, transportOf(hosts, name, version));
    let header: Headers | undefined;
    const seen: string[] = [];
    for await (const event of client.subscribeToTask(
      { id: "t1" },
      { onHeader: (given) => (header = given) },
    )) {
      seen.push(event.payload.case ?? "");
    }
    expect(seen).toEqual(["statusUpdate", "statusUpdate"]);
    expect(header?.get("a2a-extensions")).toBe("urn:x");
    const failing = client
      .subscribeToTask({ id: "t1" }, { headers: { "x-fail": "1" } })
      [Symbol.asyncIterator]();
    await failing.next();
    await failing.next();
    const error = await failing.next().catch((thrown) => thrown);
    expect(error.code).toBe(Code.NotFound);
    expect(error.findDetails(ErrorInfoSchema)).toHaveLength(1);
  });

  it("refuses a stream before its first event", async () => {
    const hosts = await start(() => Promise.reject(new A2AError("UNSUPPORTED_OPERATION")));
    const client = createClient(A2AService, transportOf(hosts, name, version));
    const error = await client
      .subscribeToTask({ id: "t1" })
      [Symbol.asyncIterator]()
      .next()
      .catch((thrown) => thrown);
    expect([error.code, error.rawMessage]).toEqual([
      Code.FailedPrecondition,
      "This operation is not supported.",
    ]);
  });

  it("ends with DEADLINE_EXCEEDED, a unary call that hangs and a stream that says nothing", async () => {
    const { events, closed } = createIdleEvents(statusEvent(1));
    const hosts = await start((call) =>
      call.method.name === "GetTask" ? new Promise(() => undefined) : streamReply(events),
    );
    // The client would count as well: the deadline is written by hand.
    const header = name.startsWith("connect") ? { "connect-timeout-ms": "100" } : { "grpc-timeout": "100m" };
    const client = createClient(A2AService, transportOf(hosts, name, version));
    const unary = await client.getTask({ id: "t1" }, { headers: header }).catch((thrown) => thrown);
    expect([unary.code, unary.rawMessage]).toEqual([Code.DeadlineExceeded, "The deadline has passed."]);
    const stream = client.subscribeToTask({ id: "t1" }, { headers: header })[Symbol.asyncIterator]();
    await stream.next();
    expect((await stream.next().catch((thrown) => thrown)).code).toBe(Code.DeadlineExceeded);
    await closed;
  });

  it("closes the reader within 100 ms when the client leaves, and aborts the signal (what-breaks 61)", async () => {
    const { events, idle, closed } = createIdleEvents(statusEvent(1));
    const hosts = await start(() => streamReply(events));
    const client = createClient(A2AService, transportOf(hosts, name, version));
    const leaving = new AbortController();
    const stream = client.subscribeToTask({ id: "t1" }, { signal: leaving.signal })[Symbol.asyncIterator]();
    await stream.next();
    await idle;
    const rest = stream.next().catch(() => undefined);
    const at = Date.now();
    leaving.abort();
    expect((await closed) - at).toBeLessThan(100);
    expect(hosts.dispatcher.calls[0]?.signal.aborted).toBe(true);
    await rest;
  });

  it("says UNAVAILABLE when the port drains", async () => {
    const { events, idle } = createIdleEvents(statusEvent(1));
    const hosts = await start(() => streamReply(events));
    const client = createClient(A2AService, transportOf(hosts, name, version));
    const stream = client.subscribeToTask({ id: "t1" })[Symbol.asyncIterator]();
    await stream.next();
    await idle;
    const drained = hosts.http.drain(50);
    const error = await stream.next().catch((thrown) => thrown);
    expect([error.code, error.rawMessage]).toEqual([Code.Unavailable, "The gateway is shutting down."]);
    await drained;
  });

  it("refuses what is too large, before and after decompression", async () => {
    const hosts = await start();
    const id = "x".repeat(100_001);
    for (const more of [{}, { sendCompression: compressionGzip, compressMinBytes: 1 }]) {
      const client = createClient(A2AService, transportOf(hosts, name, version, more));
      const error = await client.getTask({ id }).catch((thrown) => thrown);
      expect(error.code).toBe(Code.ResourceExhausted);
      expect(error.rawMessage).toMatch(/^The (message|body) is larger than 100000 bytes\.$/);
    }
    expect(hosts.dispatcher.refusals.map(({ error }) => error.reason)).toEqual(["TOO_LARGE", "TOO_LARGE"]);
  });

  it("reads and writes gzip", async () => {
    const long = "y".repeat(10_000);
    const hosts = await start(({ request }) => ({
      kind: "unary",
      message: create(TaskSchema, { id: (request as { id?: string }).id ?? "" }),
      headers: {},
    }));
    const more = {
      sendCompression: compressionGzip,
      acceptCompression: [compressionGzip],
      compressMinBytes: 1,
    };
    const client = createClient(A2AService, transportOf(hosts, name, version, more));
    expect((await client.getTask({ id: long })).id).toBe(long);
  });
});

describe("Connect, unary", () => {
  it("reads JSON strictly and writes REQUIRED fields always (S1-03)", async () => {
    const hosts = await start(() => ({
      kind: "unary",
      message: create(ListTasksResponseSchema),
      headers: {},
    }));
    const answer = await ask(hosts, { path: "ListTasks", body: '{"page_size":1,"unknown":[1]}' });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
    expect(await textOf(answer)).toBe('{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}');
    expect(hosts.dispatcher.calls[0]?.request).toMatchObject({ pageSize: 1 });
    const mistyped = await ask(hosts, { path: "ListTasks", body: '{"status":"TASK_STATE_WORKIN"}' });
    expect(mistyped.status).toBe(400);
    expect(JSON.parse(await textOf(mistyped)).code).toBe("invalid_argument");
    expect(hosts.dispatcher.calls).toHaveLength(1);
  });

  it.each([
    ["JSON that is none", "application/json", Buffer.from('{"id":'), "PARSE_ERROR"],
    ["JSON of another shape", "application/json", Buffer.from('{"id":5}'), "INVALID_ARGUMENT"],
    ["protobuf that is cut", "application/proto", Buffer.from([0x12, 9, 1]), "INVALID_ARGUMENT"],
    ["protobuf with invalid UTF-8", "application/proto", Buffer.from([0x12, 1, 0xff]), "INVALID_ARGUMENT"],
  ])("refuses %s with 400 by our table, and reports it", async (_, type, body, reason) => {
    const hosts = await start();
    const answer = await ask(hosts, { type, body });
    expect([answer.status, answer.headers["content-type"]]).toEqual([400, "application/json"]);
    expect(JSON.parse(await textOf(answer)).code).toBe("invalid_argument");
    expect(hosts.dispatcher.refusals).toMatchObject([{ method: "GetTask", error: { reason } }]);
  });

  it("writes an error with type, value and debug of each detail, and its HTTP status and headers", async () => {
    const hosts = await start(() =>
      Promise.reject(
        new A2AError("UNAUTHENTICATED", { headers: { "www-authenticate": "Bearer" }, retryAfterMs: 1 }),
      ),
    );
    const refused = await ask(hosts, {});
    expect([refused.status, refused.headers["www-authenticate"], refused.headers["retry-after"]]).toEqual([
      401,
      "Bearer",
      "1",
    ]);
    expect(JSON.parse(await textOf(refused))).toMatchObject({
      code: "unauthenticated",
      message: "Authentication is required.",
    });
    const other = await start(() => Promise.reject(richError()));
    const body = JSON.parse(await textOf(await ask(other, {})));
    expect(body).toMatchObject({ code: "not_found", message: richError().message });
    expect(body.details[0]).toEqual({
      type: "google.rpc.ErrorInfo",
      value: expect.any(String),
      debug: { reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org", metadata: { taskId: "t1" } },
    });
    expect(body.details.map(({ type }: { type: string }) => type)).toEqual([
      "google.rpc.ErrorInfo",
      "google.rpc.BadRequest",
      "google.rpc.RetryInfo",
      "google.rpc.RequestInfo",
    ]);
  });

  it("is 413 when too large, whatever the length that was announced", async () => {
    const hosts = await start();
    const large = await ask(hosts, { body: `{"id":"${"x".repeat(100_000)}"}` });
    expect([large.status, JSON.parse(await textOf(large)).code]).toEqual([413, "resource_exhausted"]);
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    const inflated = await ask(hosts, { body: bomb, headers: { "content-encoding": "gzip" } });
    expect(inflated.status).toBe(413);
  });

  it("compresses for who accepts it, and only what is worth it", async () => {
    const id = "z".repeat(5_000);
    const hosts = await start(() => ({ kind: "unary", message: create(TaskSchema, { id }), headers: {} }));
    const loud = await ask(hosts, { body: gzipSync("{}"), headers: { "content-encoding": "GZIP" } });
    expect(loud.status, "the name of a coding has no case").toBe(200);
    const packed = await ask(hosts, { headers: { "accept-encoding": "br, gzip;q=0.8" } });
    expect([packed.headers["content-encoding"], packed.headers.vary]).toEqual(["gzip", "accept-encoding"]);
    expect(JSON.parse(gunzipSync(await bytesOf(packed)).toString()).id).toBe(id);
    const plain = await ask(hosts, { headers: { "accept-encoding": "gzip;q=0" } });
    expect(plain.headers["content-encoding"]).toBeUndefined();
  });

  it.each([
    ["a verb that is not POST", { method: "GET" }, 405, "unimplemented"],
    ["a media type that is none of ours", { type: "text/plain" }, 415, "invalid_argument"],
    ["no media type", { type: "" }, 415, "invalid_argument"],
    ["another charset", { type: "application/json; charset=latin1" }, 415, "invalid_argument"],
    ["a unary layout for a stream", { path: "SubscribeToTask" }, 415, "invalid_argument"],
    ["a stream's layout for a unary call", { type: "application/connect+json" }, 415, "invalid_argument"],
    ["an unknown method", { path: "Nothing" }, 501, "unimplemented"],
    ["an unknown compression", { headers: { "content-encoding": "br" } }, 501, "unimplemented"],
    ["another version of Connect", { headers: { "connect-protocol-version": "2" } }, 400, "invalid_argument"],
    ["a timeout that is none", { headers: { "connect-timeout-ms": "1s" } }, 400, "invalid_argument"],
    ["gzip that is none", { headers: { "content-encoding": "gzip" } }, 400, "invalid_argument"],
  ] as const)("refuses %s", async (_, post, status, code) => {
    const hosts = await start();
    const answer = await ask(hosts, post);
    expect(answer.status).toBe(status);
    expect(JSON.parse(await textOf(answer)).code).toBe(code);
    if (status === 405) expect(answer.headers.allow).toBe("POST, OPTIONS");
    if (status === 415) expect(answer.headers["accept-post"]).toContain("application/connect+json");
    expect(hosts.dispatcher.refusals).toHaveLength(1);
    expect(hosts.dispatcher.calls).toHaveLength(0);
  });

  it("takes the version from the query, media types in any case, and answers OPTIONS", async () => {
    const hosts = await start();
    await ask(hosts, { path: "GetTask?A2A-Version=1.0", type: 'Application/JSON; Charset="UTF-8"' });
    expect(hosts.dispatcher.calls[0]?.queryVersion).toBe("1.0");
    const options = await ask(hosts, { method: "OPTIONS", type: "", body: "" });
    expect([options.status, options.headers.allow]).toEqual([204, "POST, OPTIONS"]);
  });
});

describe("envelopes", () => {
  const stream = { path: "SubscribeToTask", type: "application/connect+json" };

  it("end a Connect stream with a frame of its own, errors before the first event included", async () => {
    const hosts = await start(({ parameters }) =>
      parameters("x-fail") ? Promise.reject(richError()) : streamReply(eventsThen([statusEvent(1)])),
    );
    const good = envelopes(await bytesOf(await ask(hosts, { ...stream, body: frame(0, '{"id":"t1"}') })));
    expect(good.map(({ flags }) => flags)).toEqual([0, 2]);
    expect(JSON.parse(good[0]?.data.toString() ?? "").statusUpdate.status.state).toBe("TASK_STATE_WORKING");
    expect(good[1]?.data.toString()).toBe("{}");
    const answer = await ask(hosts, { ...stream, body: frame(0, "{}"), headers: { "x-fail": "1" } });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/connect+json"]);
    const [end] = envelopes(await bytesOf(answer));
    expect(end?.flags).toBe(2);
    expect(JSON.parse(end?.data.toString() ?? "")).toMatchObject({
      error: { code: "not_found" },
      metadata: { "retry-after": ["2"] },
    });
  });

  it("of JSON are read strictly too", async () => {
    const hosts = await start();
    const path = "SendStreamingMessage";
    const body = frame(0, '{"message":{"role":"ROLE_USR"}}');
    const [end] = envelopes(await bytesOf(await ask(hosts, { ...stream, path, body })));
    expect(JSON.parse(end?.data.toString() ?? "").error.code).toBe("invalid_argument");
    expect(hosts.dispatcher.calls).toHaveLength(0);
  });

  it.each([
    ["cut in the head", Buffer.from([0, 0, 0]), "invalid_argument"],
    ["cut in the message", frame(0, "{}").subarray(0, 6), "invalid_argument"],
    ["compressed without notice", frame(1, gzipSync("{}")), "invalid_argument"],
    ["with unknown flags", frame(64, "{}"), "invalid_argument"],
    ["announcing four gigabytes", Buffer.from([0, 255, 255, 255, 255, 1]), "resource_exhausted"],
    ["missing", Buffer.alloc(0), "unimplemented"],
    ["twice", Buffer.concat([frame(0, "{}"), frame(0, "{}")]), "unimplemented"],
    ["with malformed JSON", frame(0, "{"), "invalid_argument"],
  ])("%s are refused", async (_, body, code) => {
    const hosts = await start();
    const [end] = envelopes(await bytesOf(await ask(hosts, { ...stream, body })));
    expect(JSON.parse(end?.data.toString() ?? "").error.code).toBe(code);
    expect(hosts.dispatcher.refusals).toHaveLength(1);
  });

  it("may arrive in any pieces", async () => {
    const hosts = await start();
    const client = createHttpClient({ host: "127.0.0.1", port: hosts.httpPort }, 2);
    cleanUps.push(client.close);
    const { readEnvelopes } = await import("../../../src/bindings/connect/envelopes.js");
    const whole = Buffer.concat([frame(0, "one"), frame(0, ""), frame(1, gzipSync("three"))]);
    for (let size = 1; size <= whole.length; size++) {
      const pieces = (async function* () {
        for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
      })();
      const texts: string[] = [];
      for await (const message of readEnvelopes(pieces, { maxBytes: 100, compressed: true })) {
        texts.push(Buffer.from(message).toString());
      }
      expect(texts).toEqual(["one", "", "three"]);
    }
  });

  it("of gRPC end with trailers, malformed protobuf is INVALID_ARGUMENT there", async () => {
    const hosts = await start();
    for (const version of [1, 2] as const) {
      const type = "application/grpc";
      const answer = await ask(hosts, {
        type,
        version,
        body: frame(0, Buffer.from([0x12, 9, 1])),
        headers: { te: "trailers" },
      });
      expect([answer.status, answer.headers["content-type"], await textOf(answer)]).toEqual([200, type, ""]);
      expect(answer.trailers()).toMatchObject({
        "grpc-status": "3",
        "grpc-message": "The message is not a valid GetTaskRequest.",
      });
    }
  });

  it("of gRPC-Web text travel in base64, whatever its pieces", async () => {
    const hosts = await start();
    const head = frame(0, getTask("t1")).subarray(0, 5).toString("base64");
    const rest = getTask("t1").toString("base64");
    const type = "application/grpc-web-text+proto";
    const answer = await ask(hosts, { type, body: `${head}${rest}` });
    expect(answer.headers["content-type"]).toBe(type);
    const text = await textOf(answer);
    const bytes = Buffer.concat(text.split(/(?<==)(?!=)/).map((part) => Buffer.from(part, "base64")));
    const [message, end] = envelopes(bytes);
    expect(fromBinary(TaskSchema, message?.data ?? Buffer.alloc(0)).id).toBe("t1");
    expect([end?.flags, end?.data.toString()]).toEqual([0x80, "grpc-status: 0\r\n"]);
    const bad = await ask(hosts, { type, body: "!!!!" });
    const [refused] = envelopes(Buffer.from(await textOf(bad), "base64"));
    expect(refused?.data.toString()).toContain("grpc-status: 3\r\n");
  });

  it("of an unknown path are UNIMPLEMENTED in the caller's protocol", async () => {
    const hosts = await start();
    const client = createHttpClient({ host: "127.0.0.1", port: hosts.httpPort }, 2);
    cleanUps.push(client.close);
    for (const path of ["/lf.a2a.v1.A2AService/Nothing", "/other.Service/Method", "/"]) {
      const web = await client.ask({
        method: "POST",
        path,
        headers: { "content-type": "application/grpc-web" },
      });
      expect(envelopes(await bytesOf(web))[0]?.data.toString()).toContain("grpc-status: 12\r\n");
      const grpc = await client.ask({
        method: "POST",
        path,
        headers: { "content-type": "application/grpc" },
      });
      await textOf(grpc);
      expect(grpc.trailers()["grpc-status"]).toBe("12");
      const type = "application/connect+proto";
      const connect = await client.ask({ method: "POST", path, headers: { "content-type": type } });
      expect(envelopes(await bytesOf(connect))[0]?.data.toString()).toContain('"unimplemented"');
    }
    const other = await client.ask({
      method: "POST",
      path: "/other",
      headers: { "content-type": "application/json" },
    });
    expect(other.status).toBe(404);
  });

  it("are compressed when the client accepts it", async () => {
    const text = "w".repeat(3_000);
    const { WireEvent } = await import("../../../src/protocol/event.js");
    const value = { id: text };
    const event = WireEvent.of(create(StreamResponseSchema, { payload: { case: "task", value } }), 1);
    const hosts = await start(() => streamReply(eventsThen([event])));
    const headers = { "connect-accept-encoding": "gzip" };
    const answer = await ask(hosts, { ...stream, body: frame(0, "{}"), headers });
    expect(answer.headers["connect-content-encoding"]).toBe("gzip");
    const [first] = envelopes(await bytesOf(answer));
    expect(first?.flags).toBe(1);
    expect(gunzipSync(first?.data ?? Buffer.alloc(0)).toString()).toContain(text);
  });
});
