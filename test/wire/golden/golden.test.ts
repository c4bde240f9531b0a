import { connect } from "node:http2";
import { type DescMessage, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Middleware } from "../../../src/core/middleware.js";
import { A2AError } from "../../../src/errors.js";
import { startGateway, type TestGateway } from "../../support/gateway.js";
import { exchange, rawRequest } from "../../support/raw-socket.js";
import { createScriptedAgent } from "../../support/scripted-agent.js";
import { frame } from "../../support/wires/connect-json.js";
import { methodOf } from "../../support/wires/shape.js";
import { escaped, showHttp1, showHttp2 } from "./show.js";

/** What each wire is asked: a unary call, a stream, an error, a stream that is refused, one that fails later. */
interface Ask {
  readonly title: string;
  readonly method: string;
  readonly request: JsonObject;
  readonly headers?: readonly string[];
}

const MESSAGE = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] };
const ASKS: readonly Ask[] = [
  { title: "unary", method: "SendMessage", request: { message: MESSAGE } },
  { title: "stream", method: "SendStreamingMessage", request: { message: { ...MESSAGE, messageId: "m2" } } },
  { title: "error", method: "GetTask", request: { id: "unknown-task" } },
  { title: "stream refused", method: "SubscribeToTask", request: { id: "unknown-task" } },
  {
    title: "stream failing",
    method: "SendStreamingMessage",
    request: { message: { ...MESSAGE, messageId: "m3" } },
    headers: ["x-fail-late: 1"],
  },
];

const REST_PATHS = new Map([
  ["SendMessage", "POST /message:send"],
  ["SendStreamingMessage", "POST /message:stream"],
  ["GetTask", "GET /tasks/unknown-task"],
  ["SubscribeToTask", "GET /tasks/unknown-task:subscribe"],
]);

const failLate: Middleware = async (context, _request, next) => {
  const reply = await next();
  if (reply.kind === "unary" || context.parameters("x-fail-late") === undefined) return reply;
  const { events } = reply;
  const failing = (async function* () {
    for await (const event of events) {
      yield event;
      throw new A2AError("RESOURCE_EXHAUSTED", { text: "Too slow.", retryAfterMs: 1500 });
    }
  })();
  return { ...reply, events: failing };
};

let gateway: TestGateway;

beforeAll(async () => {
  const agent = createScriptedAgent({
    hello: [
      { status: "WORKING", parts: "thinking" },
      { artifact: "a1", parts: [{ data: { whole: 7, half: 0.5, none: null } }], last: true },
      { done: "COMPLETED", parts: "bye" },
    ],
  });
  const now = () => Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  gateway = await startGateway({ agents: [{ agent, policy: { idempotency: false } }], middleware: [failLate], now });
});

afterAll(() => gateway.close());

function inputOf(method: string): DescMessage {
  return methodOf(method).input;
}

function bytesOf({ method, request }: Ask): Uint8Array {
  const desc = inputOf(method);
  return toBinary(desc, fromJson(desc, request));
}

/** The raw HTTP/1.1 request of each wire that speaks it. */
const HTTP1: Readonly<Record<string, (ask: Ask) => Buffer>> = {
  jsonrpc: ({ method, request, headers = [] }) =>
    rawRequest(
      "POST /",
      ["content-type: application/json", "a2a-version: 1.0", ...headers],
      JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: request }),
    ),
  rest: ({ method, request, headers = [] }) => {
    const line = REST_PATHS.get(method) as string;
    const body = line.startsWith("POST") ? JSON.stringify(request) : "";
    return rawRequest(line, ["content-type: application/json", "a2a-version: 1.0", ...headers], body);
  },
  "connect-json": (ask) => connectRequest(ask, "json", JSON.stringify(ask.request)),
  connect: (ask) => connectRequest(ask, "proto", bytesOf(ask)),
  "grpc-web": (ask) => rpcRequest(ask, "application/grpc-web+proto", frame(0, bytesOf(ask)), ["x-grpc-web: 1"]),
};

function connectRequest(ask: Ask, codec: string, body: string | Uint8Array): Buffer {
  const streaming = methodOf(ask.method).methodKind === "server_streaming";
  const type = streaming ? `application/connect+${codec}` : `application/${codec}`;
  return rpcRequest(ask, type, streaming ? frame(0, body) : body, ["connect-protocol-version: 1"]);
}

function rpcRequest({ method, headers = [] }: Ask, type: string, body: string | Uint8Array, own: string[]): Buffer {
  return rawRequest(`POST /lf.a2a.v1.A2AService/${method}`, [`content-type: ${type}`, ...own, ...headers], body);
}

test.each(Object.keys(HTTP1))("S1-01 S1-03 S1-04 %s has this form on the wire", async (wire) => {
  const parts: string[] = [];
  for (const ask of ASKS) {
    const request = (HTTP1[wire] as (ask: Ask) => Buffer)(ask);
    parts.push(`## ${ask.title}\n\n${showHttp1(request, await exchange(gateway.http, request))}`);
  }
  await expect(`${parts.join("\n\n")}\n`).toMatchFileSnapshot(`${wire}.txt`);
});

test.each(["grpc", "http"] as const)("S1-01 S1-08 grpc on the %s port has this form on the wire", async (port) => {
  const { host, port: number } = gateway[port];
  const session = connect(`http://${host}:${number}`);
  const parts: string[] = [];
  for (const ask of ASKS) {
    const shown = await showHttp2(session, {
      ":method": "POST",
      ":path": `/lf.a2a.v1.A2AService/${ask.method}`,
      "content-type": "application/grpc",
      te: "trailers",
      ...Object.fromEntries((ask.headers ?? []).map((line) => line.split(": "))),
    }, frame(0, bytesOf(ask)));
    parts.push(`## ${ask.title}\n\n${shown}`);
  }
  session.destroy();
  await expect(`${parts.join("\n\n")}\n`).toMatchFileSnapshot(`grpc-${port}-port.txt`);
});

test("S1-03 escapes show every byte", () => {
  expect(escaped(Buffer.from([0x41, 0x5c, 0x0a, 0xff]))).toBe("A\\\\\\x0a\\xff");
});
