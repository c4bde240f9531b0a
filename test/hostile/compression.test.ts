import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { bytesOf, createHttpClient } from "../support/http-client.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import { frame } from "../support/wires/connect-json.js";

/** 512 MiB of blanks in half a megabyte: a valid JSON text, and a protobuf message that is none. */
const BOMB = gzipSync(Buffer.alloc(512 << 20, " "), { level: 9 });
const RPC = "/lf.a2a.v1.A2AService/SendMessage";

interface Shape {
  readonly wire: string;
  readonly port: "http" | "grpc";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** What the answer says, in its head, body or trailers. */
  readonly answer: RegExp;
  readonly status: number;
}

const GZIP = { "content-encoding": "gzip" };
const SHAPES: readonly Shape[] = [
  {
    wire: "jsonrpc",
    port: "http",
    path: "/",
    headers: { "content-type": "application/json", ...GZIP },
    body: BOMB,
    status: 413,
    answer: /"code":-31429/,
  },
  {
    wire: "rest",
    port: "http",
    path: "/message:send",
    headers: { "content-type": "application/json", ...GZIP },
    body: BOMB,
    status: 413,
    answer: /"RESOURCE_EXHAUSTED"/,
  },
  {
    wire: "connect-json",
    port: "http",
    path: RPC,
    headers: { "content-type": "application/json", ...GZIP },
    body: BOMB,
    status: 413,
    answer: /"resource_exhausted"/,
  },
  {
    wire: "connect",
    port: "http",
    path: RPC,
    headers: { "content-type": "application/proto", ...GZIP },
    body: BOMB,
    status: 413,
    answer: /"resource_exhausted"/,
  },
  {
    wire: "grpc-web",
    port: "http",
    path: RPC,
    headers: { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" },
    body: frame(1, BOMB),
    status: 200,
    answer: /grpc-status: ?8/,
  },
  {
    wire: "grpc on the HTTP port",
    port: "http",
    path: RPC,
    headers: { "content-type": "application/grpc", te: "trailers", "grpc-encoding": "gzip" },
    body: frame(1, BOMB),
    status: 200,
    answer: /grpc-status: ?8/,
  },
  {
    wire: "grpc",
    port: "grpc",
    path: RPC,
    headers: { "content-type": "application/grpc", te: "trailers", "grpc-encoding": "gzip" },
    body: frame(1, BOMB),
    status: 200,
    answer: /grpc-status: ?8/,
  },
];

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway({ agents: [{ agent: createScriptedAgent() }] });
});
afterAll(() => gateway.close());

describe("a compressed bomb", () => {
  test.each(SHAPES)(
    "over $wire is too large, and never unpacked",
    async ({ port, path, headers, body, status, answer }) => {
      const http = createHttpClient(gateway[port], 2);
      const before = process.memoryUsage().rss;
      const got = await http.ask({
        method: "POST",
        path,
        headers: { "a2a-version": "1.0", ...headers },
        body,
      });
      const text = (await bytesOf(got)).toString("latin1");
      const fields = Object.entries({ ...got.headers, ...got.trailers() }).map(
        ([name, value]) => `${name}: ${value}`,
      );
      expect(got.status).toBe(status);
      expect(`${fields.join("\n")}\n${text}`).toMatch(answer);
      expect(process.memoryUsage().rss - before).toBeLessThan(200 << 20);
      await http.close();
    },
  );
});
