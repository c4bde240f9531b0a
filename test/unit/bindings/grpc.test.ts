import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { createGrpcBinding } from "../../../src/bindings/grpc/index.js";
import type { Call, Reply } from "../../../src/core/context.js";
import { A2AError } from "../../../src/errors.js";
import { WireEvent } from "../../../src/protocol/event.js";
import {
  A2AService,
  GetTaskRequestSchema,
  ListTasksResponseSchema,
  StreamResponseSchema,
} from "../../../src/protocol/schema.js";
import { createGrpcHost } from "../../../src/server/grpc-host.js";
import { eventsThen, fakeDispatcher, statusEvent, streamReply } from "../../support/fake-dispatcher.js";
import { createIdleEvents, type RpcHosts, richError, startRpcHosts } from "../../support/rpc-host.js";
import { TEST_TLS } from "../../support/tls.js";
import { frame } from "../../support/wires/connect-json.js";
import { createGrpcClient } from "../../support/wires/grpc.js";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(answer?: (call: Call) => Reply | Promise<Reply>): Promise<RpcHosts> {
  const hosts = await startRpcHosts(answer ? { answer } : {});
  cleanUps.push(hosts.close);
  return hosts;
}

/** The proto-loader client: it shares no code with our encoders. */
function clientOf({ grpcPort }: RpcHosts) {
  const client = createGrpcClient({ host: "127.0.0.1", port: grpcPort });
  cleanUps.push(client.close);
  return client;
}

/** A client that sends bytes as they are. */
function rawClient(port: number, creds = credentials.createInsecure()): Client {
  const client = new Client(`127.0.0.1:${port}`, creds, {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.ssl_target_name_override": "localhost",
  });
  cleanUps.push(() => client.close());
  return client;
}

const same = (bytes: Buffer) => bytes;
const GET_TASK = "/lf.a2a.v1.A2AService/GetTask";
const STREAM = "/lf.a2a.v1.A2AService/SendStreamingMessage";

function callRaw(
  client: Client,
  path: string,
  bytes: Buffer,
  metadata = new Metadata(),
): Promise<ServiceError | Buffer> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, same, same, bytes, metadata, (error, answer) =>
      resolve(error ?? (answer as Buffer)),
    );
  });
}

const getTask = (id: string) =>
  Buffer.from(toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id })));

describe("gRPC, unary", () => {
  it("answers through the dispatcher, with metadata both ways (S1-01, S1-08)", async () => {
    const hosts = await start((call) => ({
      kind: "unary",
      message: create(ListTasksResponseSchema, {
        totalSize: 7,
        nextPageToken: call.parameters("a2a-extensions") ?? "",
      }),
      headers: { "a2a-extensions": "urn:x", "x-text": "späte Grüße" },
    }));
    const answer = await clientOf(hosts).call(
      "ListTasks",
      { contextId: "c1" },
      { headers: { "a2a-extensions": "urn:x" } },
    );
    expect(answer).toMatchObject({ kind: "ok", message: { totalSize: 7, nextPageToken: "urn:x" } });
    expect(answer.headers["a2a-extensions"]).toBe("urn:x");
    expect(answer.headers["x-text"]).toBe("sp%C3%A4te%20Gr%C3%BC%C3%9Fe");
    const [call] = hosts.dispatcher.calls;
    expect(call).toMatchObject({ wire: "grpc", impliedVersion: "1.0", request: { contextId: "c1" } });
    expect(call?.method).toBe(A2AService.method.listTasks);
    expect(call?.traffic.received).toBe(4);
    expect(call?.traffic.sent).toBeGreaterThan(0);
  });

  it("joins repeated metadata and leaves binary metadata alone", async () => {
    const hosts = await start();
    const metadata = new Metadata();
    metadata.add("a2a-extensions", "urn:a");
    metadata.add("a2a-extensions", "urn:b");
    metadata.add("x-bin", Buffer.from([1]));
    await callRaw(rawClient(hosts.grpcPort), GET_TASK, getTask("t1"), metadata);
    const parameters = hosts.dispatcher.calls[0]?.parameters;
    expect(parameters?.("a2a-extensions")).toBe("urn:a, urn:b");
    expect(parameters?.("x-bin")).toBeUndefined();
    expect(parameters?.("absent")).toBeUndefined();
  });

  it("carries an error with all its details in grpc-status-details-bin (S1-04, what-breaks 44)", async () => {
    const hosts = await start(() => Promise.reject(richError()));
    const answer = await clientOf(hosts).call("GetTask", { id: "t1" });
    expect(answer).toMatchObject({
      kind: "error",
      error: {
        code: "NOT_FOUND",
        reason: "TASK_NOT_FOUND",
        message: richError().message,
        metadata: { taskId: "t1" },
        violations: [{ field: "id", description: "names nothing" }],
        retryAfterMs: 1_500,
        errorId: "e-1",
      },
    });
  });

  it("survives a text with half a surrogate pair", async () => {
    const hosts = await start(() =>
      Promise.reject(new A2AError("INVALID_ARGUMENT", { text: "bad \ud800 text" })),
    );
    const error = (await callRaw(rawClient(hosts.grpcPort), GET_TASK, getTask("t1"))) as ServiceError;
    expect([error.code, error.details]).toEqual([status.INVALID_ARGUMENT, "bad \ufffd text"]);
  });

  it("hides what an unknown error says", async () => {
    const hosts = await start(() => Promise.reject(new Error("secret")));
    const error = (await callRaw(rawClient(hosts.grpcPort), GET_TASK, getTask("t1"))) as ServiceError;
    expect([error.code, error.details]).toEqual([status.INTERNAL, "Internal error."]);
  });

  it.each([
    ["cut short", Buffer.from([0x12, 0x05, 0x61])],
    ["with an invalid tag", Buffer.from([0x00])],
    ["with invalid UTF-8", Buffer.from([0x12, 0x02, 0xff, 0xfe])],
    ["with a length beyond the end", Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0x0f])],
  ])("refuses bytes %s as INVALID_ARGUMENT, by our table", async (_, bytes) => {
    const hosts = await start();
    const error = (await callRaw(rawClient(hosts.grpcPort), GET_TASK, bytes)) as ServiceError;
    expect([error.code, error.details]).toEqual([
      status.INVALID_ARGUMENT,
      "The message is not a valid GetTaskRequest.",
    ]);
    expect(hosts.dispatcher.refusals).toHaveLength(1);
    expect(hosts.dispatcher.calls).toHaveLength(0);
  });

  it("refuses what is too large as RESOURCE_EXHAUSTED, and an unknown method as UNIMPLEMENTED", async () => {
    const hosts = await start();
    const client = rawClient(hosts.grpcPort);
    const large = (await callRaw(client, GET_TASK, Buffer.alloc(100_001))) as ServiceError;
    expect(large.code).toBe(status.RESOURCE_EXHAUSTED);
    const unknown = (await callRaw(client, "/lf.a2a.v1.A2AService/Nothing", getTask("t"))) as ServiceError;
    expect(unknown.code).toBe(status.UNIMPLEMENTED);
  });

  it("aborts with DEADLINE_EXCEEDED when the deadline passes", async () => {
    let seen: Call | undefined;
    const hosts = await start((call) => {
      seen = call;
      return new Promise((_, reject) =>
        call.signal.addEventListener("abort", () => reject(call.signal.reason)),
      );
    });
    const at = Date.now();
    const answer = await clientOf(hosts).call("GetTask", { id: "t1" }, { timeoutMs: 150 });
    expect(answer).toMatchObject({ kind: "error", error: { code: "DEADLINE_EXCEEDED" } });
    expect(Date.now() - at).toBeLessThan(1_000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen?.signal.reason).toMatchObject({ reason: "DEADLINE_EXCEEDED" });
  });

  it("does not abort the signal of a call that went well", async () => {
    let signal: AbortSignal | undefined;
    const hosts = await start((call) => {
      signal = call.signal;
      return { kind: "unary", message: create(ListTasksResponseSchema), headers: {} };
    });
    const client = clientOf(hosts);
    await client.call("ListTasks", {}, { timeoutMs: 60 });
    await client.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(signal?.aborted).toBe(false);
  });

  it("aborts the signal when the caller cancels", async () => {
    let called: (call: Call) => void = () => undefined;
    const reached = new Promise<Call>((resolve) => {
      called = resolve;
    });
    const hosts = await start((call) => {
      call.signal.throwIfAborted();
      called(call);
      return new Promise(() => undefined);
    });
    const client = rawClient(hosts.grpcPort);
    const call = client.makeUnaryRequest(GET_TASK, same, same, getTask("t1"), () => undefined);
    const { signal } = await reached;
    const aborted = once(signal, "abort");
    call.cancel();
    await aborted;
    expect(signal.reason).not.toBeInstanceOf(A2AError);
  });
});

describe("gRPC, streams", () => {
  it("sends the events, the reply's headers first", async () => {
    const hosts = await start(() => streamReply(eventsThen([statusEvent(1), statusEvent(2)])));
    const stream = clientOf(hosts).stream("SendStreamingMessage", { message: { messageId: "m" } });
    expect(await stream.next()).toMatchObject({ kind: "event", headers: { "a2a-extensions": "urn:x" } });
    expect(await stream.next()).toMatchObject({ kind: "event", message: { statusUpdate: { taskId: "t1" } } });
    expect(await stream.next()).toEqual({ kind: "end" });
  });

  it("encodes an event once for all its readers", async () => {
    const event = statusEvent(1);
    const { binary } = event;
    expect(WireEvent.fromBinary(binary).binary).toBe(binary);
    const hosts = await start(() => streamReply(eventsThen([event])));
    const client = clientOf(hosts);
    for (let reader = 0; reader < 3; reader++) {
      expect((await client.stream("SubscribeToTask", { id: "t1" }).next()).kind).toBe("event");
    }
    expect(event.binary).toBe(binary);
  });

  it.each([0, 2])("ends with the error after %s events", async (count) => {
    const events = [statusEvent(1), statusEvent(2)].slice(0, count);
    const hosts = await start(() => streamReply(eventsThen(events, richError())));
    const stream = clientOf(hosts).stream("SubscribeToTask", { id: "t1" });
    for (let index = 0; index < count; index++) expect((await stream.next()).kind).toBe("event");
    const last = await stream.next();
    expect(last).toMatchObject({
      kind: "error",
      first: count === 0,
      error: { reason: "TASK_NOT_FOUND", errorId: "e-1" },
    });
  });

  it("refuses malformed bytes and a refused call without an event", async () => {
    const hosts = await start(() => Promise.reject(new A2AError("UNSUPPORTED_OPERATION")));
    const client = rawClient(hosts.grpcPort);
    for (const [bytes, code] of [
      [Buffer.from([0x0a, 9]), status.INVALID_ARGUMENT],
      [Buffer.alloc(0), status.FAILED_PRECONDITION],
    ] as const) {
      const call = client.makeServerStreamRequest(STREAM, same, same, bytes);
      const [error] = await once(call, "error");
      expect(error.code).toBe(code);
    }
  });

  it("closes the reader within 100 ms when the caller leaves (what-breaks 62)", async () => {
    const { events, idle, closed } = createIdleEvents(statusEvent(1));
    const hosts = await start(() => streamReply(events));
    const stream = clientOf(hosts).stream("SubscribeToTask", { id: "t1" });
    await stream.next();
    await idle;
    const at = Date.now();
    stream.cancel();
    expect((await closed) - at).toBeLessThan(100);
  });

  it("ends at the deadline, though no event is due", async () => {
    const { events, closed } = createIdleEvents(statusEvent(1));
    const hosts = await start(() => streamReply(events));
    const stream = clientOf(hosts).stream("SubscribeToTask", { id: "t1" }, { timeoutMs: 200 });
    await stream.next();
    expect(await stream.next()).toMatchObject({ kind: "error", error: { code: "DEADLINE_EXCEEDED" } });
    await closed;
  });

  it("pulls no more than the client reads, and closes the reader of one that reads nothing when it leaves", async () => {
    const data = { case: "raw", value: new Uint8Array(32_000) } as const;
    const parts = [{ content: data }];
    const value = { taskId: "t1", contextId: "c1", artifact: { artifactId: "a", parts } };
    const event = WireEvent.of(
      create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } }),
      1,
    );
    let pulled = 0;
    let ended: () => void = () => undefined;
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    async function* many() {
      try {
        for (; pulled < 2_000; pulled++) yield event;
      } finally {
        ended();
      }
    }
    const hosts = await start(() => streamReply(many()));
    // A client of HTTP/2 that never reads: grpc-js's own reads ahead.
    const session = connectHttp2(`http://127.0.0.1:${hosts.grpcPort}`);
    cleanUps.push(() => session.destroy());
    const headers = {
      ":method": "POST",
      ":path": STREAM,
      "content-type": "application/grpc",
      te: "trailers",
    };
    const call = session.request(headers).on("error", () => undefined);
    call.end(Buffer.alloc(5));
    for (let before = -1; before !== pulled || pulled === 0; ) {
      before = pulled;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(pulled).toBeLessThan(100);
    call.close(8);
    await end;
  });
});

describe("what grpc-js answers by itself (docs/errors.md)", () => {
  const message = frame(0, getTask("t1"));
  it.each([
    ["no message", {}, Buffer.alloc(0), "12"],
    ["two messages", {}, Buffer.concat([message, message]), "12"],
    ["unknown compression", { "grpc-encoding": "br" }, frame(1, getTask("t1")), "12"],
    ["gzip", { "grpc-encoding": "gzip" }, frame(1, gzipSync(getTask("t1"))), "0"],
    ["damaged gzip", { "grpc-encoding": "gzip" }, frame(1, "rubbish"), "13"],
    [
      "gzip that inflates too far",
      { "grpc-encoding": "gzip" },
      frame(1, gzipSync(Buffer.alloc(200_000))),
      "8",
    ],
    ["a timeout that is none", { "grpc-timeout": "soon" }, message, "13"],
  ])("%s", async (_, headers, body, grpcStatus) => {
    const hosts = await start();
    const { fields } = await post(hosts.grpcPort, headers, body);
    expect(fields["grpc-status"]).toBe(grpcStatus);
  });

  it("another media type, and too many fields", async () => {
    const hosts = await start();
    const typed = await post(hosts.grpcPort, { "content-type": "text/plain" }, message);
    expect(typed.fields[":status"]).toBe(415);
    const many = Object.fromEntries(Array.from({ length: 130 }, (_, index) => [`x-${index}`, "1"]));
    expect((await post(hosts.grpcPort, many, message)).rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });
});

/** A call by hand over HTTP/2: all response fields, trailers included. */
async function post(port: number, headers: Record<string, string>, body: Buffer) {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  cleanUps.push(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": GET_TASK,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const fields: Record<string, unknown> = {};
  stream.on("response", (head) => Object.assign(fields, head));
  stream.on("trailers", (trailers) => Object.assign(fields, trailers));
  stream.on("error", () => undefined).resume();
  stream.end(body);
  await new Promise((resolve) => stream.on("close", resolve));
  return { fields, rstCode: stream.rstCode };
}

describe("gRPC port", () => {
  it("drains: NOT_SERVING, GOAWAY, grace, then UNAVAILABLE", async () => {
    const { events, idle, closed } = createIdleEvents(statusEvent(1));
    const hosts = await start(() => streamReply(events));
    const stream = clientOf(hosts).stream("SubscribeToTask", { id: "t1" });
    await stream.next();
    await idle;
    const at = Date.now();
    const drained = hosts.grpc.drain(100);
    expect(await stream.next()).toMatchObject({
      kind: "error",
      error: { code: "UNAVAILABLE", message: "The gateway is shutting down." },
    });
    expect(Date.now() - at).toBeGreaterThanOrEqual(95);
    await closed;
    await drained;
    expect(Date.now() - at).toBeLessThan(1_500);
  });

  it("drains at once when nothing is open, and closes twice without harm", async () => {
    const hosts = await start();
    await clientOf(hosts).call("GetTask", { id: "t1" });
    const at = Date.now();
    await hosts.grpc.drain(10_000);
    expect(Date.now() - at).toBeLessThan(1_000);
    await hosts.grpc.close();
  });

  it("cuts a call that does not even end then", async () => {
    const hosts = await start(() => new Promise(() => undefined));
    const pending = clientOf(hosts).call("GetTask", { id: "t1" });
    while (hosts.dispatcher.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await hosts.grpc.drain(20);
    expect(await pending).toMatchObject({ kind: "error" });
  });

  it("speaks TLS with the certificate that it is given", async () => {
    const hosts = await startRpcHosts({ tls: TEST_TLS });
    cleanUps.push(hosts.close);
    const creds = credentials.createSsl(Buffer.from(TEST_TLS.cert));
    expect(await callRaw(rawClient(hosts.grpcPort, creds), GET_TASK, getTask("t1"))).toBeInstanceOf(Buffer);
  });

  it("says EADDRINUSE when the port is taken", async () => {
    const hosts = await start();
    const second = createGrpcHost({
      binding: createGrpcBinding({ dispatcher: fakeDispatcher() }),
      maxBytes: 1_000,
    });
    cleanUps.push(second.close);
    await expect(second.listen({ host: "127.0.0.1", port: hosts.grpcPort })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });

  it("survives a client that resets streams in quick succession, and one that speaks no HTTP/2", async () => {
    const hosts = await start(() => new Promise(() => undefined));
    const session = connectHttp2(`http://127.0.0.1:${hosts.grpcPort}`).on("error", () => undefined);
    const ended = new Promise((resolve) => session.on("close", resolve));
    let sent = 0;
    while (!session.destroyed && sent < 20_000) {
      for (let i = 0; i < 50 && !session.destroyed; i++, sent++) {
        session
          .request({ ":path": GET_TASK, ":method": "POST" })
          .on("error", () => undefined)
          .close(8);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
    expect(sent).toBeLessThan(3_000);
    await expect(fetch(`http://127.0.0.1:${hosts.grpcPort}/`)).rejects.toThrow();
  });
});
