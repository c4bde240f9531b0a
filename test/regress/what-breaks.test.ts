/**
 * Faults that users of other A2A servers reported, each by the input that showed it. Those that a scenario or a
 * table of hostile input shows on every wire are not repeated here.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { GatewayOptions } from "../../src/gateway.js";
import { createMemoryStore } from "../../src/stores/index.js";
import type { FullTaskStore } from "../../src/stores/task-store.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { createHttpClient, textOf } from "../support/http-client.js";
import { exchange, rawRequest } from "../support/raw-socket.js";
import {
  createScriptedAgent,
  type Script,
  type ScriptedAgent,
  scriptedCard,
} from "../support/scripted-agent.js";
import {
  type Answer,
  type Step,
  WIRES,
  type Wire,
  type WireClient,
  type WireStream,
} from "../support/wires/index.js";

const SCRIPTS: Readonly<Record<string, Script>> = {
  hello: [{ done: "COMPLETED", parts: "bye" }],
  ask: [{ done: "INPUT_REQUIRED", parts: "what?" }],
  work: [{ status: "WORKING" }, { gate: "go" }, { done: "COMPLETED" }],
};

/** One wire of each kind, where the fault lies behind the wires. */
const SOME = WIRES.filter(({ name }) => ["grpc", "jsonrpc HTTP/1.1", "rest HTTP/2"].includes(name));

let opened: { close(): unknown }[];

beforeEach(() => {
  opened = [];
});
afterEach(async () => {
  for (const each of opened.reverse()) await each.close();
});

async function open(
  wire: Wire,
  options: Partial<GatewayOptions> = {},
): Promise<{ gateway: TestGateway; client: WireClient; agent: ScriptedAgent }> {
  const agent = createScriptedAgent(SCRIPTS);
  const gateway = await startGateway({ agents: [{ agent }], ...options });
  const client = wire.connect(gateway);
  opened.push(gateway, client);
  return { gateway, client, agent };
}

function send(text: string, more: JsonObject = {}): JsonObject {
  return { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more } };
}

function taskOf(answer: Answer | Step): JsonObject {
  assert.ok(answer.kind === "ok" || answer.kind === "event", JSON.stringify(answer));
  return (answer.message as { task: JsonObject }).task;
}

async function steps(stream: WireStream): Promise<Step[]> {
  const all: Step[] = [];
  for (;;) {
    const step = await stream.next();
    if (step.kind === "end") return all;
    all.push(step);
    if (step.kind === "error") return all;
  }
}

describe.each(WIRES)("over $name", (wire) => {
  test("a2a-js p632, mastra p20205: of two messages to a waiting task at once, one is worked on", async () => {
    const { client, agent } = await open(wire);
    const taskId = taskOf(await client.call("SendMessage", send("ask"))).id as string;
    const both = [send("work", { taskId }), send("work", { taskId })];
    const answers = both.map((message) =>
      client.call("SendMessage", { ...message, configuration: { returnImmediately: true } }),
    );
    const kinds = (await Promise.all(answers)).map((answer) =>
      answer.kind === "error" ? answer.error.reason : "ok",
    );
    expect(kinds.sort()).toEqual(["UNSUPPORTED_OPERATION", "ok"]);
    agent.gates.open("go");
    await agent.idle();
    expect(agent.record.started).toBe(2);
  });

  test("topcheer/ggcode i1088: the last event of a subscription is terminal, however close it comes to the end", async () => {
    const { client, agent } = await open(wire);
    for (let round = 0; round < 15; round += 1) {
      agent.load(SCRIPTS);
      const request = { ...send("work"), configuration: { returnImmediately: true } };
      const id = taskOf(await client.call("SendMessage", request)).id as string;
      await agent.gates.reached("go");
      if (round % 3 === 0) agent.gates.open("go");
      const stream = client.stream("SubscribeToTask", { id });
      if (round % 3 === 1) agent.gates.open("go");
      if (round % 3 === 2) setImmediate(() => agent.gates.open("go"));
      const last = (await steps(stream)).at(-1);
      assert.ok(last !== undefined && last.kind !== "end");
      if (last.kind === "error") expect(last.error.reason).toBe("UNSUPPORTED_OPERATION");
      else expect(JSON.stringify(last.message)).toContain("TASK_STATE_COMPLETED");
    }
  });

  test("a2a-js, own reading: 150 kB of text are no reason to refuse a message", async () => {
    const { client } = await open(wire);
    const message = send("hello");
    (message.message as JsonObject).parts = [{ text: "hello" }, { text: "x".repeat(150_000) }];
    expect(taskOf(await client.call("SendMessage", message)).status).toMatchObject({
      state: "TASK_STATE_COMPLETED",
    });
  });

  test("a2a-java i590: security schemes are served in their oneof's form", async () => {
    const card = scriptedCard({
      securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "x-key" } } },
      securityRequirements: [{ schemes: { key: { list: [] } } }],
    });
    const agent = { ...createScriptedAgent(SCRIPTS), card };
    const { client, gateway } = await open(wire, {
      agents: [{ agent, extendedCard: card, extendedCardPublic: true }],
    });
    const expected = { key: { apiKeySecurityScheme: { location: "header", name: "x-key" } } };
    const extended = await client.call("GetExtendedAgentCard", {});
    assert.ok(extended.kind === "ok", JSON.stringify(extended));
    expect((extended.message as JsonObject).securitySchemes).toEqual(expected);
    expect((await cardOf(gateway)).securitySchemes).toEqual(expected);
  });
});

describe.each(SOME)("over $name", (wire) => {
  test("a2a-js p542: a task that waits can be subscribed to after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "switchyard-"));
    const store = { kind: "sqlite", path: join(folder, "tasks.db") } as const;
    opened.push({ close: () => rmSync(folder, { recursive: true }) });
    const before = await startGateway({ agents: [{ agent: createScriptedAgent(SCRIPTS) }], store });
    const first = wire.connect(before);
    const id = taskOf(await first.call("SendMessage", send("ask"))).id as string;
    await first.close();
    await before.close();
    const { client } = await open(wire, { store });
    const stream = client.stream("SubscribeToTask", { id });
    expect(taskOf(await stream.next()).status).toMatchObject({ state: "TASK_STATE_INPUT_REQUIRED" });
    expect(taskOf(await client.call("SendMessage", send("hello", { taskId: id }))).id).toBe(id);
    expect((await steps(stream)).at(-1)).toMatchObject({
      message: { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } },
    });
  });

  test("a2a-python i609: a store that fails is an Internal error, and in time", async () => {
    const store: FullTaskStore = {
      ...createMemoryStore(),
      commit: () => Promise.reject(new Error("disk full at /var/secret")),
    };
    const { client } = await open(wire, { store });
    const answer = await client.call("SendMessage", send("hello"), { timeoutMs: 5000 });
    expect(answer).toMatchObject({ kind: "error", error: { code: "INTERNAL" } });
    expect(JSON.stringify(answer)).not.toContain("secret");
    const stream = client.stream("SendStreamingMessage", send("hello"), { timeoutMs: 5000 });
    expect(await stream.next()).toMatchObject({ kind: "error", first: true, error: { code: "INTERNAL" } });
  });

  test("topcheer/ggcode i258: a page token goes on although its task is gone", async () => {
    const { client, gateway } = await open(wire);
    const ids: string[] = [];
    for (const text of ["ask", "ask", "hello"])
      ids.push(taskOf(await client.call("SendMessage", send(text))).id as string);
    const page = await client.call("ListTasks", { pageSize: 1 });
    assert.ok(page.kind === "ok");
    const { nextPageToken } = page.message as { nextPageToken: string };
    expect(await gateway.gateway.prune([{ states: [3], maxAgeMs: 0 }])).toBe(1);
    const next = await client.call("ListTasks", { pageSize: 5, pageToken: nextPageToken });
    assert.ok(next.kind === "ok", JSON.stringify(next));
    expect((next.message as { tasks: { id: string }[] }).tasks.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
  });
});

describe("over HTTP", () => {
  const envelope = (id: JsonValue, method: string, params: JsonObject) =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params });

  async function ask(gateway: TestGateway, path: string, body: string, headers: Record<string, string> = {}) {
    const http = createHttpClient(gateway.http, 1);
    opened.push(http);
    const answer = await http.ask({
      method: "POST",
      path,
      headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
      body,
    });
    return { status: answer.status, text: await textOf(answer) };
  }

  test("trpc-a2a-go i46, a2a-java i1034: a tenant's address is served with and without a slash at its end", async () => {
    const agent = createScriptedAgent(SCRIPTS);
    const { gateway } = await open(SOME[1] as Wire, {
      agents: [{ agent }, { tenant: "acme", agent }],
      mounts: { jsonrpc: ["/rpc"] },
    });
    for (const path of ["/acme", "/acme/", "/rpc", "/rpc/", "/rpc/acme", "/rpc/acme/"]) {
      const { status, text } = await ask(gateway, path, envelope(1, "SendMessage", send("hello")));
      expect(status, path).toBe(200);
      expect(text, path).toContain("TASK_STATE_COMPLETED");
    }
    expect((await ask(gateway, "/other", "{}")).status).toBe(404);
    const http = createHttpClient(gateway.http, 1);
    opened.push(http);
    expect((await http.ask({ method: "GET", path: "/other" })).status).toBe(404);
  });

  test("A2A i1369: a request without jsonrpc gets its id back", async () => {
    const { gateway } = await open(SOME[1] as Wire);
    const { text } = await ask(gateway, "/", '{"id":"mine","method":"GetTask","params":{"id":"x"}}');
    expect(JSON.parse(text)).toMatchObject({ id: "mine", error: { code: -32600 } });
  });

  test("liujuanjuan1984/codex-a2a i339: the addresses of the card work as they stand", async () => {
    const agent = createScriptedAgent(SCRIPTS);
    const { gateway } = await open(SOME[1] as Wire, { agents: [{ agent }, { tenant: "acme", agent }] });
    for (const tenant of ["", "acme"]) {
      const card = await cardOf(gateway, tenant);
      const interfaces = card.supportedInterfaces as {
        url: string;
        protocolBinding: string;
        tenant?: string;
      }[];
      expect(interfaces.map((each) => each.tenant ?? "")).toEqual(interfaces.map(() => tenant));
      const jsonrpc = interfaces.find((each) => each.protocolBinding === "JSONRPC");
      const rest = interfaces.find((each) => each.protocolBinding === "HTTP+JSON");
      assert.ok(jsonrpc && rest);
      const base = new URL(rest.url);
      const at = { ...gateway, http: { host: base.hostname, port: Number(base.port) } };
      const request = tenant === "" ? send("hello") : { ...send("hello"), tenant };
      const path = new URL(jsonrpc.url).pathname;
      expect((await ask(at, path, envelope(1, "SendMessage", request))).text).toContain(
        "TASK_STATE_COMPLETED",
      );
      const below = `${base.pathname.replace(/\/$/, "")}${tenant === "" ? "" : `/${tenant}`}`;
      expect((await ask(at, `${below}/message:send`, JSON.stringify(send("hello")))).text).toContain(
        "COMPLETED",
      );
    }
  });

  test("a2a-rs i69: repeated A2A-Extensions headers are one list", async () => {
    const uris = ["https://example.com/a", "https://example.com/b"];
    const agent = createScriptedAgent(SCRIPTS);
    const { gateway } = await open(SOME[1] as Wire, {
      agents: [{ agent, extensions: uris.map((uri) => ({ uri })) }],
    });
    const headers = [
      "content-type: application/json",
      "a2a-version: 1.0",
      ...uris.map((uri) => `A2A-Extensions: ${uri}`),
    ];
    const answer = await exchange(
      gateway.http,
      rawRequest("POST /message:send", headers, JSON.stringify(send("hello"))),
    );
    expect(answer.toString()).toMatch(
      /\r\na2a-extensions: https:\/\/example.com\/a, https:\/\/example.com\/b\r\n/i,
    );
    expect(agent.record.turns[0]?.extensions).toEqual(uris);
  });

  test("a2a-js i146, a2a-dotnet i330: broken JSON is a parse error without a stack", async () => {
    const { gateway } = await open(SOME[1] as Wire);
    const { status, text } = await ask(gateway, "/", '{"jsonrpc":');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32700 } });
  });
});

async function cardOf(gateway: TestGateway, tenant = ""): Promise<JsonObject> {
  const http = createHttpClient(gateway.http, 1);
  opened.push(http);
  const prefix = tenant === "" ? "" : `/${tenant}`;
  const answer = await http.ask({ method: "GET", path: `${prefix}/.well-known/agent-card.json` });
  return JSON.parse(await textOf(answer)) as JsonObject;
}
