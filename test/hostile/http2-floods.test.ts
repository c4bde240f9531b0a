import { connect, constants } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { openSocket } from "../support/raw-socket.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import { WIRES, type WireClient } from "../support/wires/index.js";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = frameOf(4, 0, 0);

/** One HTTP/2 frame (RFC 9113, 4.1). */
function frameOf(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

/** HPACK: POST, http, path and content type of a gRPC call, by literals without indexing. */
function callHeaders(): Buffer {
  const literal = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]);
  return Buffer.concat([
    literal(":method", "POST"),
    literal(":scheme", "http"),
    literal(":path", "/lf.a2a.v1.A2AService/GetTask"),
    literal(":authority", "test"),
    literal("content-type", "application/grpc"),
    literal("te", "trailers"),
  ]);
}

const RST_STREAM = 3;

interface Frame {
  readonly type: number;
  readonly stream: number;
}

function framesIn(bytes: Buffer): Frame[] {
  if (bytes.length < 9) return [];
  const end = 9 + bytes.readUIntBE(0, 3);
  const frame = { type: bytes.readUInt8(3), stream: bytes.readUInt32BE(5) };
  return [frame, ...framesIn(bytes.subarray(end))];
}

const repeated = (count: number, one: (index: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, index) => one(index)));

/** What an attacker sends after the preface, and keeps sending. */
const FLOODS: readonly (readonly [string, Buffer])[] = [
  ["pings", repeated(50_000, () => frameOf(6, 0, 0, Buffer.alloc(8)))],
  ["settings", repeated(50_000, () => frameOf(4, 0, 0, Buffer.from([0, 4, 0, 0, 0xff, 0xff])))],
  [
    "calls that are reset at once",
    repeated(3_000, (index) => {
      const stream = index * 2 + 1;
      return Buffer.concat([
        frameOf(1, 4, stream, callHeaders()),
        frameOf(3, 0, stream, Buffer.from([0, 0, 0, 8])),
      ]);
    }),
  ],
  [
    "header fields without an end",
    Buffer.concat([
      frameOf(1, 0, 1, callHeaders()),
      repeated(20_000, (index) =>
        frameOf(9, 0, 1, Buffer.from(`\0\u0008x-h-${String(index).padStart(4, "0").slice(-4)}\u0001y`)),
      ),
    ]),
  ],
  [
    "empty data frames",
    Buffer.concat([frameOf(1, 4, 1, callHeaders()), repeated(50_000, () => frameOf(0, 0, 1))]),
  ],
  [
    "priority frames",
    repeated(50_000, (index) => frameOf(2, 0, (index % 1000) * 2 + 1, Buffer.from([0, 0, 0, 0, 7]))),
  ],
  ["frames of an unknown type", repeated(50_000, () => frameOf(0xfa, 0, 0, Buffer.alloc(4)))],
  ["a frame larger than allowed", frameOf(0, 0, 1, Buffer.alloc(70_000))],
  ["garbage", Buffer.alloc(100_000, 0xa5)],
];

const LITERAL = {
  ":method": "POST",
  ":scheme": "http",
  ":path": "/lf.a2a.v1.A2AService/GetTask",
  ":authority": "test",
};

type Fields = readonly (readonly [string, string])[];

/** Header fields that break the protocol: the call is reset. */
const BREAKING: readonly (readonly [title: string, fields: Fields])[] = [
  ["an upper-case name", [...Object.entries(LITERAL), ["X-A", "b"]]],
  ["no path", Object.entries(LITERAL).filter(([name]) => name !== ":path")],
  ["two paths", [...Object.entries(LITERAL), [":path", "/other"]]],
  ["a pseudo field after an ordinary one", [["x-a", "b"], ...Object.entries(LITERAL)]],
  ["a field of the connection", [...Object.entries(LITERAL), ["connection", "keep-alive"]]],
];

/** Header fields that are dropped: the call is answered as if they were not there. */
const DROPPED: readonly (readonly [title: string, field: readonly [string, string]])[] = [
  ["a line break in a value", ["a2a-version", "1.0\r\nx-c: d"]],
  ["a NUL in a value", ["a2a-version", "1.0\0"]],
  ["a line break in a name", ["x-a\r\na2a-version", "2.0"]],
];

/** A flood costs its server some hundred milliseconds on an idle machine; a test machine is not idle. */
const PATIENCE_MS = 10_000;

let gateway: TestGateway;
let client: WireClient;

beforeAll(async () => {
  gateway = await startGateway({ agents: [{ agent: createScriptedAgent() }] });
  client = (WIRES[0] as (typeof WIRES)[number]).connect(gateway);
});
afterAll(async () => {
  await client.close();
  await gateway.close();
});

/** Milliseconds that an honest caller waits for its answer. */
async function honestCallMs(): Promise<number> {
  const before = performance.now();
  const answer = await client.call("GetTask", { id: "unknown-task" });
  expect(answer).toMatchObject({ kind: "error", error: { reason: "TASK_NOT_FOUND" } });
  return performance.now() - before;
}

describe.each(["http", "grpc"] as const)("floods on the %s port", (port) => {
  test.each(FLOODS)("%s do not stop other callers", async (_title, flood) => {
    const attacker = await openSocket(gateway[port]);
    attacker.write(Buffer.concat([PREFACE, SETTINGS, flood]));
    expect(await honestCallMs()).toBeLessThan(PATIENCE_MS);
    attacker.destroy();
    expect(await honestCallMs()).toBeLessThan(PATIENCE_MS);
  });

  test("an attacker that reads no answers does not stop other callers", async () => {
    const attacker = await openSocket(gateway[port]);
    attacker.socket.pause();
    attacker.write(
      Buffer.concat([PREFACE, SETTINGS, ...((FLOODS[0] as [string, Buffer]).slice(1) as Buffer[])]),
    );
    expect(await honestCallMs()).toBeLessThan(PATIENCE_MS);
    attacker.destroy();
    expect(await honestCallMs()).toBeLessThan(PATIENCE_MS);
  });

  async function framesFor(fields: Fields): Promise<readonly Frame[]> {
    const raw = await openSocket(gateway[port]);
    const block = Buffer.concat(fields.map(([name, value]) => literal(name, value)));
    const goaway = frameOf(7, 0, 0, Buffer.alloc(8));
    raw.write(Buffer.concat([PREFACE, SETTINGS, frameOf(1, 5, 1, block), goaway]));
    return framesIn(await raw.closed()).filter(({ stream }) => stream === 1);
  }

  test.each(BREAKING)("a call with %s is reset and nothing more", async (_title, fields) => {
    expect((await framesFor(fields)).filter(({ type }) => type !== RST_STREAM)).toEqual([]);
    await honestCallMs();
  });

  test.each(DROPPED)("of a call with %s the field is dropped", async (_title, field) => {
    const call = [
      ...Object.entries(LITERAL),
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ] as const;
    const plain = await framesFor(call as Fields);
    expect(await framesFor([...(call as Fields), field])).toEqual(plain);
  });

  test("a client that resets its calls does not disturb its other calls", async () => {
    const { host, port: number } = gateway[port];
    const session = connect(`http://${host}:${number}`);
    session.on("error", () => undefined);
    const headers = {
      ":method": "POST",
      ":path": "/lf.a2a.v1.A2AService/GetTask",
      "content-type": "application/grpc",
      te: "trailers",
    };
    for (let count = 0; count < 50; count += 1) {
      const stream = session.request(headers);
      stream.on("error", () => undefined);
      stream.close(constants.NGHTTP2_CANCEL);
    }
    const kept = session.request(headers);
    kept.end(Buffer.from([0, 0, 0, 0, 0]));
    const status = await new Promise((resolve) => {
      kept.on("response", (fields) => fields["grpc-status"] !== undefined && resolve(fields["grpc-status"]));
      kept.on("trailers", (fields) => resolve(fields["grpc-status"]));
      kept.on("error", resolve);
      kept.resume();
    });
    expect(status).toBe("3");
    session.destroy();
  });
});
