import { spawn } from "node:child_process";
import { type ClientHttp2Stream, connect, constants } from "node:http2";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { openSocket, type RawSocket } from "../support/raw-socket.js";
import { createScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.js";
import { WIRES, type WireClient } from "../support/wires/index.js";

const LIMIT_MS = 300;

/** Silent connections held at once. */
const SILENT = process.env.SOAK === undefined ? 2_000 : 10_000;

let gateway: TestGateway;
let agent: ScriptedAgent;
let client: WireClient;

beforeAll(async () => {
  agent = createScriptedAgent({ hi: [{ message: "ho" }] });
  gateway = await startGateway({
    agents: [{ agent }],
    limits: {
      headersTimeoutMs: LIMIT_MS,
      requestTimeoutMs: LIMIT_MS,
      checkIntervalMs: 50,
      headerBytes: 4096,
    },
  });
  client = (WIRES.find(({ name }) => name === "jsonrpc HTTP/1.1") as (typeof WIRES)[number]).connect(gateway);
});
afterAll(async () => {
  await client.close();
  await gateway.close();
});

const HEAD =
  "POST /message:send HTTP/1.1\r\nhost: test\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n";
const BODY = '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}';

/** What is sent before the silence, and how the connection ends. */
const UNFINISHED: readonly (readonly [title: string, sent: string, answer: RegExp])[] = [
  ["nothing", "", /^$/],
  ["half of a method", "PO", /^HTTP\/1\.1 408 |^$/],
  ["half of an HTTP/2 preface", "PRI * HTTP/2.0\r\n", /^(?!HTTP)/],
  ["half of a head", "POST / HTTP/1.1\r\nhost: te", /^HTTP\/1\.1 408 /],
  ["a head, and half of its body", `${HEAD}content-length: 1000\r\n\r\n${BODY}`, /^HTTP\/1\.1 408 /],
  ["half of a chunk", `${HEAD}transfer-encoding: chunked\r\n\r\nff\r\n${BODY}`, /^HTTP\/1\.1 408 /],
  ["chunks without an end", `${HEAD}transfer-encoding: chunked\r\n\r\n2\r\n{"\r\n`, /^HTTP\/1\.1 408 /],
];

/** What is sent before the client leaves. */
const BROKEN_OFF = UNFINISHED.slice(3);

/** Heads that no proper client sends: the answer's first line, after which the connection is closed. */
const MALFORMED: readonly (readonly [title: string, sent: string, answer: RegExp])[] = [
  ["no HTTP at all", "hello there\r\n\r\n", /^HTTP\/1\.1 400 /],
  ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", /^HTTP\/1\.1 400 |^$/],
  ["a line break in a header's value", `${HEAD}x-a: b\nx-c: d\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ["a NUL in a header's value", `${HEAD}x-a: b\0c\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ["a folded header", `${HEAD}x-a: b\r\n c\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ["a space before the colon", `${HEAD}x-a : b\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ["two lengths", `${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\n{}`, /^HTTP\/1\.1 400 /],
  [
    "a length and chunks",
    `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    /^HTTP\/1\.1 400 /,
  ],
  ["a negative length", `${HEAD}content-length: -1\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ["a chunk size that is no number", `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`, /^HTTP\/1\.1 400 /],
  ["no host", "GET /tasks HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400 /],
  ["two hosts", "GET /tasks HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n", /^HTTP\/1\.1 400 /],
  ["a head beyond the limit", `${HEAD}x-a: ${"b".repeat(5000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
  ["many header fields", `${HEAD}${"x: y\r\n".repeat(5000)}\r\n`, /^HTTP\/1\.1 431 /],
];

async function sendSilently(sent: string): Promise<RawSocket> {
  const raw = await openSocket(gateway.http);
  if (sent !== "") raw.write(Buffer.from(sent, "latin1"));
  return raw;
}

async function expectServed(withinMs = 1000): Promise<void> {
  const before = performance.now();
  expect(await client.call("GetTask", { id: "x" })).toMatchObject({ error: { reason: "TASK_NOT_FOUND" } });
  expect(performance.now() - before).toBeLessThan(withinMs);
}

describe("HTTP/1.1 connections", () => {
  test.each(UNFINISHED)("that send %s and then nothing are closed in time", async (_title, sent, answer) => {
    const before = performance.now();
    const raw = await sendSilently(sent);
    const received = await raw.closed();
    expect(received.toString("latin1")).toMatch(answer);
    expect(performance.now() - before).toBeLessThan(LIMIT_MS * 5);
    expect(agent.record.turns).toEqual([]);
  });

  test.each(BROKEN_OFF)("that send %s and then leave start nothing", async (_title, sent) => {
    const raw = await sendSilently(sent);
    raw.socket.end();
    await raw.closed();
    await expectServed();
    expect(agent.record.turns).toEqual([]);
  });

  test.each(MALFORMED)("that send %s are refused", async (_title, sent, answer) => {
    const raw = await sendSilently(sent);
    const text = (await raw.closed()).toString("latin1");
    expect(text.split("\r\n")[0] ?? "").toMatch(answer);
    expect(text).not.toMatch(/<html|node_modules|\bat \//i);
    expect(agent.record.turns).toEqual([]);
  });

  test("one that ends before it has begun is closed at once", async () => {
    const patient = await startGateway({ agents: [{ agent }] });
    const socket = await openSocket(patient.http);
    socket.socket.end();
    expect(await socket.closed()).toHaveLength(0);
    await patient.close();
  });

  test("a request that follows its forerunner without waiting is answered in order", async () => {
    const get = (id: string, close: string) =>
      `GET /tasks/${id} HTTP/1.1\r\nhost: t\r\na2a-version: 1.0\r\n${close}\r\n`;
    const raw = await sendSilently(
      `${get("one", "")}${get("two", "")}${get("three", "connection: close\r\n")}`,
    );
    const text = (await raw.closed()).toString("latin1");
    expect([...text.matchAll(/"taskId":"(\w+)"/g)].map(([, id]) => id)).toEqual(["one", "two", "three"]);
  });

  test("a repeated A2A-Version is two versions, unless they are one", async () => {
    const ask = async (versions: string[]) => {
      const lines = versions.map((version) => `a2a-version: ${version}\r\n`).join("");
      const raw = await sendSilently(`GET /tasks/x HTTP/1.1\r\nhost: t\r\nconnection: close\r\n${lines}\r\n`);
      return (await raw.closed()).toString("latin1").match(/"reason":"(\w+)"/)?.[1];
    };
    expect(await ask(["1.0"])).toBe("TASK_NOT_FOUND");
    expect(await ask(["1.0", "2.0"])).toBe("VERSION_NOT_SUPPORTED");
  });

  test("an Upgrade to h2c is answered over HTTP/1.1", async () => {
    const raw = await sendSilently(
      `${HEAD}connection: Upgrade, HTTP2-Settings, close\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    );
    expect((await raw.closed()).toString("latin1")).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    agent.load({ hi: [{ message: "ho" }] });
  });
});

describe("HTTP/2 calls", () => {
  const headers = {
    ":method": "POST",
    ":path": "/message:send",
    "content-type": "application/json",
    "a2a-version": "1.0",
  };

  async function answerTo(send: (stream: ClientHttp2Stream) => void): Promise<string> {
    const session = connect(`http://${gateway.http.host}:${gateway.http.port}`);
    session.on("error", () => undefined);
    const stream = session.request(headers);
    send(stream);
    const answer = await new Promise<string>((resolve) => {
      stream.on("response", (fields) => resolve(`status ${fields[":status"]}`));
      stream.on("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
      stream.on("close", () => resolve(`closed ${stream.rstCode}`));
    });
    session.destroy();
    return answer;
  }

  test("that send half of a body and then nothing are ended in time", async () => {
    const before = performance.now();
    expect(await answerTo((stream) => void stream.write('{"message":'))).toBe("status 408");
    expect(performance.now() - before).toBeLessThan(LIMIT_MS * 5);
  });

  test("that send header fields beyond the limit are refused", async () => {
    const session = connect(`http://${gateway.http.host}:${gateway.http.port}`);
    session.on("error", () => undefined);
    // The limit holds from the moment that the client has heard of it.
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    await new Promise((resolve) => session.ping(resolve));
    const stream = session.request({ ...headers, "x-a": "b".repeat(5000) });
    stream.on("error", () => undefined);
    await new Promise((resolve) => stream.once("close", resolve));
    expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
    await expectServed();
  });

  test("that are reset before they are answered start nothing more", async () => {
    expect(await answerTo((stream) => void stream.close(8))).toMatch(/^closed 8$|^ERR/);
    await expectServed();
    expect(agent.record.turns).toEqual([]);
  });
});

describe("HTTP/2 connections", () => {
  test("that break the protocol are closed when they are idle, if not before", async () => {
    const other = await startGateway({ agents: [{ agent }], limits: { idleTimeoutMs: 20 } });
    const raw = await openSocket(other.http);
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    raw.write(
      Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings, Buffer.alloc(100_000, 0xa5)]),
    );
    await raw.closed();
    expect(raw.socket.closed).toBe(true);
    await other.close();
  });
});

describe("silent connections", () => {
  test(`${SILENT} of them do not keep others from being served, and are closed in time`, async () => {
    const crowd = openCrowd(SILENT);
    await crowd.said("open");
    await expectServed();
    await crowd.said("closed");
    await expectServed();
  });
});

/** A process of its own, so that a process's limit of open files holds for each end. */
function openCrowd(count: number) {
  const { host, port } = gateway.http;
  const script = new URL("./crowd.mjs", import.meta.url).pathname;
  const crowd = spawn(process.execPath, [script, host, String(port), String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: crowd.stdout })[Symbol.asyncIterator]();
  return {
    said: async (word: string): Promise<void> => expect((await lines.next()).value).toBe(word),
  };
}
