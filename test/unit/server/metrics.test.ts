import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { GatewayOptions } from "../../../src/gateway.js";
import { A2AService } from "../../../src/protocol/schema.js";
import { createMetrics } from "../../../src/server/metrics.js";
import { createMemoryStore } from "../../../src/stores/index.js";
import type { TaskStore } from "../../../src/stores/task-store.js";
import { startGateway, type TestGateway } from "../../support/gateway.js";
import { createHttpClient, type HttpAddress, textOf } from "../../support/http-client.js";
import { createLogWriter, opening } from "../../support/log.js";
import { createScriptedAgent, type ScriptedAgent } from "../../support/scripted-agent.js";
import { WIRES, type Wire } from "../../support/wires/index.js";

/** One line of a scrape. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([-+0-9.eE]+|Na[Nn]|[-+]?Inf)$/;

/** Reads Prometheus' text format, strictly: what comes before a sample must have declared it. */
function parse(text: string): Sample[] {
  expect(text.endsWith("\n")).toBe(true);
  const declared = new Set<string>();
  const samples: Sample[] = [];
  for (const line of text.split("\n").filter(Boolean)) {
    const type = /^# TYPE (\S+) (?:counter|gauge|histogram|summary)$/.exec(line);
    if (type) {
      expect(declared, "declared once").not.toContain(type[1]);
      declared.add(type[1] ?? "");
    }
    if (line.startsWith("#")) continue;
    const [, name = "", labels = "", value] = LINE.exec(line) ?? expect.fail(`no sample: ${line}`);
    expect([name, name.replace(/_(bucket|sum|count)$/, "")].some((each) => declared.has(each))).toBe(true);
    const pairs = [...labels.matchAll(/([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"/g)];
    samples.push({
      name,
      labels: Object.fromEntries(pairs.map(([, key, text]) => [key, text])),
      value: Number(value),
    });
  }
  return samples;
}

let gateway: TestGateway;
let agent: ScriptedAgent;

async function scrape(address: HttpAddress = gateway.http): Promise<Sample[]> {
  return parse((await get("/metrics", address)).text);
}

async function get(path: string, address: HttpAddress = gateway.http, method = "GET") {
  const http = createHttpClient(address, 1);
  try {
    const answer = await http.ask({ method, path });
    return { status: answer.status, headers: answer.headers, text: await textOf(answer) };
  } finally {
    await http.close();
  }
}

/** Sum of the samples with this name and these labels. */
function sum(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter(
      (each) =>
        each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value),
    )
    .reduce((total, { value }) => total + value, 0);
}

/** Names of wires as they are measured; two ways to one binding are one. */
function labelOf({ name }: Wire): string {
  return String(name.split(" ")[0]).replace("-json", "");
}

const SCRIPTS = {
  hello: [{ done: "COMPLETED" }],
  flow: [{ status: "WORKING" }, { gate: "go" }, { done: "COMPLETED" }],
  ask: [{ done: "INPUT_REQUIRED", parts: "what?" }],
} as const;

let count = 0;
function messageOf(text: string) {
  count += 1;
  return { message: { messageId: `m${count}`, role: "ROLE_USER", parts: [{ text }] } };
}

async function start(options: Partial<GatewayOptions> = {}): Promise<void> {
  agent = createScriptedAgent(SCRIPTS);
  gateway = await startGateway({ agents: [{ agent }, { tenant: "acme", agent }], ...options });
}

describe("metrics of calls", () => {
  beforeAll(() => start());
  afterAll(() => gateway.close());

  describe.each(WIRES)("$name", (wire) => {
    const label = labelOf(wire);

    it("are counted by method, tenant and code, with their durations", async () => {
      const before = await scrape();
      const client = wire.connect(gateway);
      await client.call("SendMessage", messageOf("hello"));
      await client.call("SendMessage", { tenant: "acme", ...messageOf("hello") });
      await client.call("GetTask", { tenant: "acme", id: "none" });
      await client.close();
      await vi.waitFor(async () => {
        const after = await scrape();
        const grown = (name: string, labels: Record<string, string>) =>
          sum(after, name, { wire: label, ...labels }) - sum(before, name, { wire: label, ...labels });
        const calls = "switchyard_calls_total";
        expect(grown(calls, { method: "SendMessage", tenant: "", code: "OK" })).toBe(1);
        expect(grown(calls, { method: "SendMessage", tenant: "acme", code: "OK" })).toBe(1);
        expect(grown(calls, { method: "GetTask", tenant: "acme", code: "NOT_FOUND" })).toBe(1);
        expect(grown("switchyard_call_duration_seconds_count", { method: "SendMessage" })).toBe(2);
        expect(grown("switchyard_call_duration_seconds_sum", { method: "SendMessage" })).toBeGreaterThan(0);
        expect(grown("switchyard_call_duration_seconds_bucket", { method: "GetTask", le: "+Inf" })).toBe(1);
      });
    });

    it.each(["ends", "is left by its client"])(
      "open streams go up, and down when one %s; events count at once",
      async (how) => {
        const client = wire.connect(gateway);
        const before = sum(await scrape(), "switchyard_stream_events_total", { wire: label });
        const stream = client.stream("SendStreamingMessage", messageOf("flow"));
        for (const kind of ["event", "event"]) expect((await stream.next()).kind).toBe(kind);
        await agent.gates.reached("go");
        const during = await scrape();
        expect(sum(during, "switchyard_open_streams", { wire: label })).toBe(1);
        expect(sum(during, "switchyard_stream_events_total", { wire: label })).toBe(before + 2);
        expect(sum(during, "switchyard_runs", { state: "WORKING" })).toBe(1);
        if (how === "ends") {
          agent.gates.open("go");
          expect((await stream.next()).kind).toBe("event");
          expect((await stream.next()).kind).toBe("end");
        } else stream.cancel();
        await vi.waitFor(async () => {
          expect(sum(await scrape(), "switchyard_open_streams")).toBe(0);
        });
        agent.gates.open("go");
        await agent.idle();
        agent.gates.reset();
        await client.close();
      },
    );
  });
});

describe("metrics", () => {
  beforeEach(() => start());
  afterEach(() => gateway.close());

  it("make no label of what a caller made up", async () => {
    for (const wire of WIRES) {
      const client = wire.connect(gateway);
      for (let i = 0; i < 3; i++) {
        expect(await client.call("GetTask", { tenant: `made-up-${i}`, id: "x" })).toMatchObject({
          kind: "error",
        });
      }
      await client.close();
    }
    const http = createHttpClient(gateway.http, 1);
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    for (const method of ["MadeUp", "constructor", "GetTask\n"]) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} });
      await textOf(await http.ask({ method: "POST", path: "/", headers, body }));
      const path = `/lf.a2a.v1.A2AService/${encodeURIComponent(method)}`;
      await textOf(await http.ask({ method: "POST", path, headers, body: "{}" }));
    }
    await textOf(await http.ask({ method: "PATCH", path: "/tasks/x", headers, body: "{}" }));
    await http.close();
    const samples = (await scrape()).filter(({ name }) => name.startsWith("switchyard_"));
    const methods = new Set(["", ...A2AService.methods.map(({ name }) => name)]);
    const wires = new Set(WIRES.map(labelOf));
    for (const { labels } of samples) {
      if (labels.tenant !== undefined) expect(["", "acme"]).toContain(labels.tenant);
      if (labels.method !== undefined) expect([...methods]).toContain(labels.method);
      if (labels.wire !== undefined) expect([...wires]).toContain(labels.wire);
    }
    expect(sum(samples, "switchyard_calls_total", { code: "NOT_FOUND" })).toBe(3 * WIRES.length);
  });

  it("tell tasks and runs by state, zeros included, the time of commits and the delay of the event loop", async () => {
    expect(sum(await scrape(), "switchyard_commit_duration_seconds_count")).toBe(0);
    const client = WIRES[0]?.connect(gateway) ?? expect.fail();
    await client.call("SendMessage", messageOf("hello"));
    await client.call("SendMessage", messageOf("ask"));
    await client.close();
    const samples = await scrape();
    const states = new Map(
      samples
        .filter(({ name }) => name === "switchyard_tasks")
        .map(({ labels, value }) => [labels.state, value]),
    );
    expect(Object.fromEntries(states)).toEqual({
      ...{ SUBMITTED: 0, WORKING: 0, AUTH_REQUIRED: 0, FAILED: 0, CANCELED: 0, REJECTED: 0 },
      ...{ COMPLETED: 1, INPUT_REQUIRED: 1 },
    });
    const runs = samples
      .filter(({ name }) => name === "switchyard_runs")
      .map(({ labels, value }) => [labels.state, value]);
    expect(Object.fromEntries(runs)).toEqual({ SUBMITTED: 0, WORKING: 0, AUTH_REQUIRED: 0 });
    expect(sum(samples, "switchyard_commit_duration_seconds_count")).toBeGreaterThanOrEqual(2);
    expect(samples.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["nodejs_eventloop_lag_p99_seconds", "process_resident_memory_bytes"]),
    );
  });

  it("are one page, over either version of HTTP, whole also when asked for twice at once", async () => {
    const [first, second] = await Promise.all([get("/metrics"), get("/metrics")]);
    const names = (page = "") => new Set(parse(page).map(({ name }) => name));
    expect(names(first?.text).size).toBeGreaterThan(30);
    expect(names(first?.text)).toEqual(names(second?.text));
    expect(first?.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    const head = await get("/metrics", gateway.http, "HEAD");
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(Number(head.headers["content-length"])).toBeGreaterThan(1_000);
    expect((await get("/metrics", gateway.http, "POST")).status).toBe(405);
    const http2 = createHttpClient(gateway.http, 2);
    const answer = await http2.ask({ method: "GET", path: "/metrics" });
    expect(parse(await textOf(answer)).length).toBeGreaterThan(50);
    await http2.close();
  });
});

describe("where metrics are", () => {
  afterEach(() => gateway.close());

  it("nowhere when they are off", async () => {
    await start({ metrics: false });
    expect((await get("/metrics")).status).toBe(404);
  });

  it("at an address of their own, and only there", async () => {
    await start({ metrics: { host: "127.0.0.1", port: 0 } });
    const { addresses } = await gateway.gateway.status();
    const metrics = addresses?.metrics ?? expect.fail();
    expect((await get("/metrics")).status).toBe(404);
    expect(sum(await scrape(metrics), "switchyard_open_streams")).toBe(0);
    for (const path of ["/", "/tasks", "/.well-known/agent-card.json"]) {
      expect((await get(path, metrics)).status, path).toBe(404);
    }
  });
});

it("times the commits of a store of a class, whose private fields stay its own", async () => {
  class OwnStore implements TaskStore {
    readonly #inner = createMemoryStore();
    readonly secret = this.#inner.secret;
    commit(...args: Parameters<TaskStore["commit"]>) {
      return this.#inner.commit(...args);
    }
    get(...args: Parameters<TaskStore["get"]>) {
      return this.#inner.get(...args);
    }
    entries(...args: Parameters<TaskStore["entries"]>) {
      return this.#inner.entries(...args);
    }
    list(...args: Parameters<TaskStore["list"]>) {
      return this.#inner.list(...args);
    }
  }
  const metrics = await createMetrics();
  const store = metrics.timed(new OwnStore());
  expect(await store.get({ tenant: "", owner: "" }, "none")).toBeUndefined();
  expect(store.secret).toHaveLength(32);
  const write = createLogWriter().write([opening({ id: "t" })]);
  await store.commit({ tenant: "", owner: "" }, "t", write);
  expect(sum(parse(await metrics.render()), "switchyard_commit_duration_seconds_count")).toBe(1);
});
