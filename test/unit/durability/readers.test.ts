import { type ClientHttp2Session, connect } from "node:http2";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { encodeBinary } from "../../../src/protocol/binary/index.js";
import { SubscribeToTaskRequestSchema } from "../../../src/protocol/schema.js";
import { createMemoryStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import {
  createTestEngine,
  iteratorOf,
  leadOf,
  readAll,
  summary,
  withParameters,
} from "../../support/engine.js";
import { startGateway, type TestGateway } from "../../support/gateway.js";
import type { HttpAddress } from "../../support/http-client.js";
import { reasonOf, taskOf } from "../../support/outcomes.js";
import { createScriptedAgent, type ScriptedAgent } from "../../support/scripted-agent.js";
import { frame } from "../../support/wires/connect-json.js";
import { WIRES } from "../../support/wires/index.js";

const encodings = vi.hoisted(() => ({ json: 0, binary: 0 }));

/** Counts how often an event other than the leading task is encoded. */
function isUpdate(schema: { readonly typeName: string }, message: unknown): boolean {
  const { payload } = message as { payload?: { case?: string } };
  return schema.typeName === "lf.a2a.v1.StreamResponse" && payload?.case !== "task";
}

vi.mock("../../../src/protocol/json/index.js", async (original) => {
  const real = await original<typeof import("../../../src/protocol/json/index.js")>();
  const writeJson: typeof real.writeJson = (schema, message) => {
    if (isUpdate(schema, message)) encodings.json += 1;
    return real.writeJson(schema, message);
  };
  return { ...real, writeJson };
});

vi.mock("../../../src/protocol/binary/index.js", async (original) => {
  const real = await original<typeof import("../../../src/protocol/binary/index.js")>();
  const encode: typeof real.encodeBinary = (schema, message) => {
    if (isUpdate(schema, message)) encodings.binary += 1;
    return real.encodeBinary(schema, message);
  };
  return { ...real, encodeBinary: encode };
});

const STREAMS_A_SESSION = 90;
const CHUNKS = 100;

interface Subscription {
  /** Resolves when the first bytes have come. */
  readonly begun: Promise<void>;
  readonly body: Promise<Buffer>;
}

/** One wire's subscriptions, without a decoder of its own: what differs in a byte is seen. */
interface Crowd {
  readonly name: string;
  readonly address: HttpAddress;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Where the leading task ends. */
  readonly leadEnd: (body: Buffer) => number;
}

function crowdsOf({ http, grpc }: TestGateway, id: string): readonly Crowd[] {
  const json = { "content-type": "application/json", "a2a-version": "1.0" };
  const rpc = { jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id } };
  const request = encodeBinary(SubscribeToTaskRequestSchema, {
    $typeName: "lf.a2a.v1.SubscribeToTaskRequest",
    tenant: "",
    id,
  });
  const afterBlankLine = (body: Buffer) => body.indexOf("\n\n") + 2;
  return [
    {
      name: "rest",
      address: http,
      headers: { ...json, ":path": `/tasks/${id}:subscribe` },
      body: Buffer.from("{}"),
      leadEnd: afterBlankLine,
    },
    {
      name: "jsonrpc",
      address: http,
      headers: { ...json, ":path": "/" },
      body: Buffer.from(JSON.stringify(rpc)),
      leadEnd: afterBlankLine,
    },
    {
      name: "grpc",
      address: grpc,
      headers: {
        "content-type": "application/grpc",
        te: "trailers",
        ":path": "/lf.a2a.v1.A2AService/SubscribeToTask",
      },
      body: frame(0, request),
      leadEnd: (body) => 5 + body.readUInt32BE(1),
    },
  ];
}

function subscribe(session: ClientHttp2Session, { headers, body }: Crowd): Subscription {
  const stream = session.request({ ":method": "POST", ...headers });
  stream.end(body);
  const begun = new Promise<void>((resolve) => stream.once("data", () => resolve()));
  const pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  const whole = new Promise<Buffer>((resolve, reject) => {
    stream.on("end", () => resolve(Buffer.concat(pieces)));
    stream.on("error", reject);
  });
  return { begun, body: whole };
}

describe("1 000 subscribers of one task (S0-14, S2-05)", () => {
  let gateway: TestGateway;
  let agent: ScriptedAgent;
  const sessions: ClientHttp2Session[] = [];

  beforeEach(async () => {
    agent = createScriptedAgent({
      go: [{ status: "WORKING" }, { gate: "on" }, { chunks: CHUNKS, of: "a" }, { done: "COMPLETED" }],
    });
    gateway = await startGateway({ agents: [{ agent }] });
  });
  afterEach(async () => {
    for (const session of sessions.splice(0)) session.destroy();
    await gateway.close();
  });

  function open(crowd: Crowd, size: number): Subscription[] {
    return Array.from({ length: size }, (_, index) => {
      const { host, port } = crowd.address;
      if (index % STREAMS_A_SESSION === 0) sessions.push(connect(`http://${host}:${port}`));
      return subscribe(sessions.at(-1) as ClientHttp2Session, crowd);
    });
  }

  it("get the same bytes in the same order, and each event is encoded once for each form", async () => {
    const client = (WIRES[0] as (typeof WIRES)[number]).connect(gateway);
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    await client.call("SendMessage", { message, configuration: { returnImmediately: true } });
    await agent.gates.reached("on");
    const crowds = crowdsOf(gateway, agent.record.turns[0]?.taskId ?? "");
    const opened = crowds.map((crowd) => ({ crowd, subscriptions: open(crowd, 334) }));
    await Promise.all(opened.flatMap(({ subscriptions }) => subscriptions.map(({ begun }) => begun)));
    Object.assign(encodings, { json: 0, binary: 0 });
    agent.gates.open("on");
    for (const { crowd, subscriptions } of opened) {
      const bodies = await Promise.all(subscriptions.map(({ body }) => body));
      const updates = bodies.map((body) => body.subarray(crowd.leadEnd(body)));
      const [first = Buffer.alloc(0), ...others] = updates;
      expect(first.length, crowd.name).toBeGreaterThan(CHUNKS * 50);
      expect(
        others.every((each) => each.equals(first)),
        crowd.name,
      ).toBe(true);
    }
    expect(encodings).toEqual({ json: CHUNKS + 1, binary: CHUNKS + 1 });
    await client.close();
  });
});

describe("a slow reader", () => {
  /** Counts reads of the log. */
  function createCountingStore() {
    const store = createMemoryStore();
    const reads = { entries: 0 };
    const counting: FullTaskStore = {
      ...store,
      entries(...args) {
        reads.entries += 1;
        return store.entries(...args);
      },
    };
    return { store: counting, reads };
  }

  const scripts = { go: [{ gate: "on" }, { chunks: 3_000, of: "a" }, { done: "COMPLETED" }] } as const;

  it("holds up neither the agent nor other readers, and gets what it missed from the store", async () => {
    const { store, reads } = createCountingStore();
    const { stream, call, agent, engine } = createTestEngine(scripts, { store });
    const slow = await stream("go");
    const { id } = await leadOf(slow);
    const pending = slow.next();
    const fast = iteratorOf(await call("subscribeToTask", { id }));
    const all = readAll(fast);
    await agent.gates.reached("on");
    agent.gates.open("on");
    await agent.idle();
    expect(await all).toHaveLength(3_002);
    expect(engine.runs.list()).toEqual([]);
    const before = reads.entries;
    const rest = [(await pending).value, ...(await readAll(slow))];
    expect(rest.map((event) => event?.number)).toEqual(
      Array.from({ length: 3_001 }, (_, index) => index + 2),
    );
    expect(reads.entries).toBeGreaterThan(before);
    expect(engine.log.readerCount()).toBe(0);
  });

  it("ends with RESOURCE_EXHAUSTED past the limit, and can take its stream up again without a gap", async () => {
    const { stream, call, agent } = createTestEngine(scripts, { maxLag: 500 });
    const slow = await stream("go");
    const { id } = await leadOf(slow);
    const seen = [1];
    const second = slow.next();
    agent.gates.open("on");
    await agent.idle();
    seen.push((await second).value?.number ?? 0);
    const read = async () => {
      for (let step = await slow.next(); !step.done; step = await slow.next()) seen.push(step.value.number);
    };
    expect(await reasonOf(read())).toBe("RESOURCE_EXHAUSTED");
    const last = seen.at(-1);
    const again = await call("subscribeToTask", { id }, withParameters({ "last-event-id": `${id}:${last}` }));
    for (const event of await readAll(iteratorOf(again))) seen.push(event.number);
    expect(seen).toEqual(Array.from({ length: 3_002 }, (_, index) => index + 1));
  });
});

describe("a stream that is taken up again (DESIGN: resuming a stream)", () => {
  const scripts = {
    ask: [
      { chunks: 4, of: "a" },
      { done: "INPUT_REQUIRED", parts: "which?" },
    ],
    more: [{ chunks: 3, of: "b" }, { done: "COMPLETED" }],
  } as const;
  const resume = (id: string) => withParameters({ "last-event-id": id });

  it("from any event: the missed ones in place of the task, over an interruption and the user's message", async () => {
    const { send, call } = createTestEngine(scripts);
    const { id } = taskOf(await send("ask"));
    await send("more", { taskId: id });
    const whole = await readAll(iteratorOf(await call("subscribeToTask", { id }, resume(`${id}:1`))));
    // The task, 4 chunks, INPUT_REQUIRED, WORKING, 3 chunks, COMPLETED; the user's message is no event.
    expect(whole.map(({ number }) => number)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    for (let seen = 1; seen < 11; seen += 1) {
      const reply = await call("subscribeToTask", { id }, resume(`${id}:${seen}`));
      expect(reply.headers["switchyard-event-id"]).toBe(`${id}:${seen + 1}`);
      const rest = await readAll(iteratorOf(reply));
      expect(rest.map(summary)).toEqual(whole.slice(seen - 1).map(summary));
    }
    expect(await reasonOf(call("subscribeToTask", { id }, resume(`${id}:11`)))).toBe("UNSUPPORTED_OPERATION");
  });

  it("while the task waits: nothing was missed, so it goes on with what comes", async () => {
    const { send, call } = createTestEngine(scripts);
    const { id } = taskOf(await send("ask"));
    const reply = await call("subscribeToTask", { id }, resume(`${id}:6`));
    const rest = readAll(iteratorOf(reply));
    await send("more", { taskId: id });
    expect((await rest).map(({ number }) => number)).toEqual([7, 8, 9, 10, 11]);
  });

  it.each([
    "x",
    "",
    ":3",
    "other:3",
    "{id}:0",
    "{id}:7",
    "{id}:-1",
    "{id}:1.5",
    "{id}:01",
    "{id}: 2",
    "{id}:99999999999999999",
  ])("from %j: the ordinary answer", async (pattern) => {
    const { send, call } = createTestEngine(scripts);
    const { id } = taskOf(await send("ask"));
    const reply = await call("subscribeToTask", { id }, resume(pattern.replace("{id}", id)));
    expect(reply.headers["switchyard-event-id"]).toBe(`${id}:6`);
    const events = iteratorOf(reply);
    expect((await leadOf(events)).id).toBe(id);
    await events.return?.();
  });

  it("by metadata, as gRPC and Connect do it", async () => {
    const { send, call } = createTestEngine(scripts);
    const { id } = taskOf(await send("ask"));
    await send("more", { taskId: id });
    const reply = await call(
      "subscribeToTask",
      { id },
      withParameters({ "switchyard-last-event-id": `${id}:9` }),
    );
    expect((await readAll(iteratorOf(reply))).map(({ number }) => number)).toEqual([10, 11]);
  });

  it("by someone else: there is no such task", async () => {
    const { send, call } = createTestEngine(scripts);
    const { id } = taskOf(await send("ask"));
    const stranger = withParameters({ "x-owner": "bob", "last-event-id": `${id}:1` });
    expect(await reasonOf(call("subscribeToTask", { id }, stranger))).toBe("TASK_NOT_FOUND");
  });
});
