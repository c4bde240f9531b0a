/** Settings of a configuration file, each seen from outside: what is written there is in force. */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createHttpClient, type HttpAsk, textOf } from "../support/http-client.js";
import { said } from "../support/http-start.js";
import { createWorkplace, type Program, send, sendBody, type Workplace } from "../support/program.js";
import { readSse } from "../support/sse-reader.js";
import { WIRES, type WireAddresses } from "../support/wires/index.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const CONFIG = `
store: memory
metrics: 127.0.0.1:0
mounts: { jsonrpc: [/rpc], rest: [/api/v1] }
cors: { origins: [https://app.example] }
cards: { preference: [HTTP+JSON, GRPC], maxAgeSeconds: 5 }
limits:
  messageBytes: 4 KiB
  metadataBytes: 100
  depth: 8
  headerBytes: 2 KiB
  targetBytes: 400
  headersMs: 300
  idleMs: 400
versions: { assume: "1.0" }
streams: { heartbeatMs: 150 }
runs: { answerGraceMs: 100, cancelGraceMs: 200, stallMs: off }
log: error
agents: [{ file: slow.mjs }]
`;

/** Answers late, and takes no notice of being cancelled. */
const AGENT = `
import { defineAgent } from "switchyard/agent";
export default defineAgent({
  card: { name: "Slow", description: "For a test." },
  async answer(turn) {
    if (turn.message.parts[0].content.value === "quick") return "done";
    await new Promise((resolve) => setTimeout(resolve, 5_000).unref());
    return "late";
  },
});
`;

let workplace: Workplace;
let program: Program & { readonly url: string };
let addresses: WireAddresses;

beforeAll(async () => {
  workplace = createWorkplace();
  writeFileSync(join(workplace.directory, "slow.mjs"), AGENT);
  writeFileSync(join(workplace.directory, "switchyard.yaml"), CONFIG);
  program = await workplace.serve();
  const [, port] = await program.seen(/gRPC +127\.0\.0\.1:(\d+)/);
  const host = "127.0.0.1";
  addresses = { http: { host, port: Number(new URL(program.url).port) }, grpc: { host, port: Number(port) } };
});
afterAll(() => workplace.close());

async function ask(ask: HttpAsk) {
  const http = createHttpClient(addresses.http, 1);
  try {
    const answer = await http.ask(ask);
    return { status: answer.status, headers: answer.headers, text: await textOf(answer) };
  } finally {
    await http.close();
  }
}

const JSON_TYPE = { "content-type": "application/json" };

function message(fields: object) {
  return {
    message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "quick" }], ...fields },
  };
}

describe.each(WIRES)("limits on $name", (wire) => {
  const isReadFirst = !wire.tags.includes("jsonrpc"); // JSON-RPC cannot know the id of what it has not read
  it.each([
    ...(isReadFirst
      ? [["messageBytes", { parts: [{ text: "x".repeat(5_000) }] }, "RESOURCE_EXHAUSTED"] as const]
      : []),
    ["metadataBytes", { metadata: { text: "x".repeat(150) } }, "INVALID_ARGUMENT"],
    ["depth", { parts: [{ data: [[[[[]]]]] }] }, "INVALID_ARGUMENT"],
  ] as const)("%s", async (_, fields, code) => {
    const client = wire.connect(addresses);
    expect(await client.call("SendMessage", message({}), { version: null })).toMatchObject({ kind: "ok" });
    expect(await client.call("SendMessage", message(fields))).toMatchObject({
      kind: "error",
      error: { code },
    });
    await client.close();
  });
});

it("messageBytes over JSON-RPC", async () => {
  const params = message({ parts: [{ text: "x".repeat(5_000) }] });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params });
  const { status, text } = await ask({ method: "POST", path: "/", headers: JSON_TYPE, body });
  expect([status, JSON.parse(text)]).toMatchObject([413, { id: null, error: { code: -31429 } }]);
});

it("headerBytes and targetBytes", async () => {
  const long = { method: "GET", path: `/tasks?pageToken=${"x".repeat(500)}` };
  expect((await ask(long)).status).toBe(414);
  expect(
    (await ask({ method: "GET", path: "/tasks", headers: { "x-long": "x".repeat(3_000) } })).status,
  ).toBe(431);
});

it("headersMs and idleMs", async () => {
  const socket = connectTcp(addresses.http);
  socket.write("GET / HTTP/1.1\r\nhost:");
  const at = Date.now();
  expect(await said(socket)).toContain("408");
  const kept = connectTcp(addresses.http);
  kept.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  expect(await said(kept)).toContain("200 OK");
  expect(Date.now() - at).toBeLessThan(8_000);
});

it("mounts", async () => {
  expect((await ask({ method: "GET", path: "/api/v1/tasks" })).status).toBe(200);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} });
  const { text } = await ask({ method: "POST", path: "/rpc", headers: JSON_TYPE, body });
  expect(JSON.parse(text)).toMatchObject({ id: 1, result: { tasks: [] } });
});

it("cors", async () => {
  const from = async (origin: string) =>
    (await ask({ method: "GET", path: "/tasks", headers: { origin } })).headers;
  expect((await from("https://app.example"))["access-control-allow-origin"]).toBe("https://app.example");
  expect(await from("https://other.example")).not.toHaveProperty("access-control-allow-origin");
});

it("cards", async () => {
  const { headers, text } = await ask({ method: "GET", path: "/.well-known/agent-card.json" });
  expect(headers["cache-control"]).toBe("public, max-age=5");
  const { supportedInterfaces } = JSON.parse(text) as { supportedInterfaces: { protocolBinding: string }[] };
  expect(supportedInterfaces.map(({ protocolBinding }) => protocolBinding).slice(0, 3)).toEqual([
    "HTTP+JSON",
    "GRPC",
    "JSONRPC",
  ]);
});

it("streams.heartbeatMs, runs.answerGraceMs and runs.cancelGraceMs", async () => {
  const http = createHttpClient(addresses.http, 1);
  const at = Date.now();
  const answer = await http.ask({
    method: "POST",
    path: "/message:stream",
    headers: JSON_TYPE,
    body: sendBody("slow"),
  });
  const events = readSse(answer.body);
  const { value: first } = await events.next();
  // The agent has not answered yet: after its grace the answer is a task.
  expect(Date.now() - at).toBeLessThan(3_000);
  const { task } = JSON.parse(first?.data ?? "") as { task: { id: string } };
  const cancelled = ask({ method: "POST", path: `/tasks/${task.id}:cancel`, headers: JSON_TYPE, body: "{}" });
  let last = "";
  for await (const event of events) last = event.data;
  expect(last).toContain("TASK_STATE_CANCELED");
  expect((await cancelled).text).toContain("TASK_STATE_CANCELED");
  expect(Date.now() - at).toBeLessThan(4_000);
  await http.close();
});

it("streams.heartbeatMs: comments while nothing happens", async () => {
  const http = createHttpClient(addresses.http, 2);
  const answer = await http.ask({
    method: "POST",
    path: "/message:stream",
    headers: JSON_TYPE,
    body: sendBody("slow"),
  });
  let text = "";
  for await (const piece of answer.body) {
    text += piece.toString();
    if (/^:\n\n:\n\n/m.test(text)) break;
  }
  expect(text).toMatch(/^:\n\n:\n\n/m);
  await http.close();
});

it("metrics: an address of its own", async () => {
  const [, host = "", port = ""] = await program.seen(/metrics +http:\/\/([\d.]+):(\d+)\/metrics/);
  expect((await ask({ method: "GET", path: "/metrics" })).status).toBe(404);
  const session = connectHttp2(`http://${host}:${port}`);
  const stream = session.request({ ":path": "/metrics" }).resume();
  const [fields] = (await once(stream, "response")) as [Record<string, number>];
  expect(fields[":status"]).toBe(200);
  session.destroy();
});

it("log: calls are not written at level error", async () => {
  await send(program.url, "quick");
  expect(program.log()).toEqual([]);
});
