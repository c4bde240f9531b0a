import assert from "node:assert/strict";
import { type ClientHttp2Stream, connect } from "node:http2";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SendMessageRequestSchema } from "../../src/protocol/schema.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import type { HttpAddress } from "../support/http-client.js";
import { openSocket, rawRequest } from "../support/raw-socket.js";
import { createReaders, type Readers } from "../support/readers.js";
import { createScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.js";
import { frame } from "../support/wires/connect-json.js";
import { WIRES } from "../support/wires/index.js";

/** Far more than the buffers of two sockets hold. */
const CHUNKS = 2_000;
const CHUNK_BYTES = 8_192;
const EVENTS = CHUNKS + 2;

const REQUEST = { message: { messageId: "slow", role: "ROLE_USER", parts: [{ text: "flood" }] } };
const RPC = "/lf.a2a.v1.A2AService/SendStreamingMessage";

/** A client that asked for a stream and reads nothing until it is told to; `rest` counts the chunks that came in all. */
interface SlowClient {
  rest(): Promise<number>;
  destroy(): void;
}

type Open = (addresses: TestGateway) => Promise<SlowClient>;

const SLOW: readonly (readonly [wire: string, open: Open])[] = [
  [
    "jsonrpc HTTP/1.1",
    ({ http }) =>
      overHttp1(
        http,
        "POST /",
        JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: REQUEST }),
      ),
  ],
  ["rest HTTP/1.1", ({ http }) => overHttp1(http, "POST /message:stream", JSON.stringify(REQUEST))],
  [
    "rest HTTP/2",
    ({ http }) =>
      overHttp2(http, "/message:stream", "application/json", Buffer.from(JSON.stringify(REQUEST))),
  ],
  [
    "connect-json HTTP/2",
    ({ http }) => overHttp2(http, RPC, "application/connect+json", frame(0, JSON.stringify(REQUEST))),
  ],
  ["grpc-web HTTP/2", ({ http }) => overHttp2(http, RPC, "application/grpc-web+proto", frame(0, protobuf()))],
  ["grpc on the HTTP port", ({ http }) => overHttp2(http, RPC, "application/grpc", frame(0, protobuf()))],
  ["grpc", ({ grpc }) => overHttp2(grpc, RPC, "application/grpc", frame(0, protobuf()))],
];

function protobuf(): Uint8Array {
  return toBinary(SendMessageRequestSchema, fromJson(SendMessageRequestSchema, REQUEST));
}

async function overHttp1(address: HttpAddress, line: string, body: string): Promise<SlowClient> {
  const raw = await openSocket(address);
  raw.socket.pause();
  raw.write(rawRequest(line, ["content-type: application/json", "a2a-version: 1.0"], body));
  return {
    rest: async () => {
      raw.socket.resume();
      return chunksIn(await raw.closed());
    },
    destroy: raw.destroy,
  };
}

async function overHttp2(
  address: HttpAddress,
  path: string,
  type: string,
  body: Uint8Array,
): Promise<SlowClient> {
  const session = connect(`http://${address.host}:${address.port}`);
  session.on("error", () => undefined); // its streams report it
  const headers = {
    ":method": "POST",
    ":path": path,
    "content-type": type,
    "a2a-version": "1.0",
    te: "trailers",
  };
  const stream: ClientHttp2Stream = session.request(headers);
  stream.end(body);
  return {
    rest: async () => {
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece as Buffer);
      return chunksIn(Buffer.concat(pieces));
    },
    destroy: () => session.destroy(),
  };
}

/** Chunks are told apart by their filling. */
function chunksIn(bytes: Buffer): number {
  return bytes.toString("latin1").match(/\d+ \.{1000,}/g)?.length ?? 0;
}

let gateway: TestGateway;
let agent: ScriptedAgent;
let readers: Readers;

beforeEach(async () => {
  readers = createReaders();
  agent = createScriptedAgent({
    flood: [
      { status: "WORKING" },
      { gate: "go" },
      { chunks: CHUNKS, of: "a1", bytes: CHUNK_BYTES },
      { done: "COMPLETED" },
    ],
  });
  gateway = await startGateway({ agents: [{ agent }], middleware: [readers.watch] });
});
afterEach(() => gateway.close());

describe.each(SLOW)("a client that stops reading over %s", (_wire, open) => {
  test("holds back its own reader alone, and misses nothing once it reads again", async () => {
    const slow = await open(gateway);
    await agent.gates.reached("go");
    const fast = (WIRES[0] as (typeof WIRES)[number]).connect(gateway);
    const stream = fast.stream("SubscribeToTask", { id: agent.record.turns[0]?.taskId ?? "" });
    const first = await stream.next();
    assert.ok(first.kind === "event");
    agent.gates.open("go");
    let events = 0;
    while ((await stream.next()).kind === "event") events += 1;
    expect(events).toBe(CHUNKS + 1);
    const readBySlow = readers.read - events - 1;
    expect(readBySlow).toBeLessThan(EVENTS * 0.75);
    expect(await slow.rest()).toBe(CHUNKS);
    slow.destroy();
    await fast.close();
  });

  test("is gone when its connection is cut; the run goes on", async () => {
    const slow = await open(gateway);
    await agent.gates.reached("go");
    const before = performance.now();
    slow.destroy();
    await readers.none();
    expect(performance.now() - before).toBeLessThan(1000);
    agent.gates.open("go");
    await agent.idle();
    expect(agent.record.aborted).toBe(0);
  });
});
