import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRetention, type RetentionRule } from "../../../src/core/retention.js";
import { type ListTasksResponse, TaskState } from "../../../src/protocol/schema.js";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTestEngine, iteratorOf, readAll, summary, withParameters } from "../../support/engine.js";
import { startGateway } from "../../support/gateway.js";
import { messageOf, reasonOf, taskOf } from "../../support/outcomes.js";
import { createScriptedAgent } from "../../support/scripted-agent.js";
import { createSqliteStores } from "../../support/sqlite-stores.js";
import { createTempDir } from "../../support/temp-dir.js";
import { WIRES, type Wire } from "../../support/wires/index.js";

const { COMPLETED, FAILED, INPUT_REQUIRED, AUTH_REQUIRED } = TaskState;
const HOUR = 3_600_000;
const scripts = {
  done: [{ done: "COMPLETED" }],
  fail: [{ done: "FAILED" }],
  ask: [{ done: "INPUT_REQUIRED", parts: "which?" }],
  auth: [
    { status: "AUTH_REQUIRED", parts: "log in" },
    { inbox: true },
    { gate: "on" },
    { done: "COMPLETED" },
  ],
  work: [{ status: "WORKING" }, { gate: "on" }, { done: "COMPLETED" }],
} as const;

const dir = createTempDir();
const openSqlite = createSqliteStores();

const STORES: readonly (readonly [string, () => FullTaskStore])[] = [
  ["memory", createMemoryStore],
  ["SQLite", () => openSqlite()],
];

describe.each(STORES)("retention on %s", (_, open) => {
  function createStage() {
    const clock = { now: Date.UTC(2026, 0, 1) };
    const now = () => (clock.now += 1);
    const store = open();
    const faults: unknown[] = [];
    const engine = createTestEngine(scripts, { store, now, tenants: ["a", "b"] });
    const sweep = (...rules: readonly RetentionRule[]) =>
      createRetention({
        store,
        rules: () => rules,
        now,
        onDeleted: () => void engine.engine.log.recheck(),
        onFault: (cause) => faults.push(cause),
      }).sweep();
    /** Sends to a tenant. */
    async function put(text: keyof typeof scripts, tenant = ""): Promise<string> {
      const parts = [{ content: { case: "text", value: text } }];
      const message = { messageId: crypto.randomUUID(), role: 1, parts };
      const reply = await engine.call("sendMessage", {
        tenant,
        message,
        configuration: { returnImmediately: text === "work" },
      });
      return taskOf(messageOf<never>(reply)).id;
    }
    const exists = async (id: string, tenant = ""): Promise<boolean> =>
      (await reasonOf(engine.call("getTask", { tenant, id }))) === "no error";
    return { ...engine, clock, store, sweep, put, exists, faults };
  }

  it("forgets by age: ended tasks unless told otherwise, none that is younger, and never one that runs", async () => {
    const { put, sweep, exists, clock, agent } = createStage();
    const old = [await put("done"), await put("fail"), await put("ask"), await put("work")];
    clock.now += 2 * HOUR;
    const young = await put("done");
    expect(await sweep({ maxAgeMs: HOUR })).toBe(2);
    expect(await Promise.all([...old, young].map((id) => exists(id)))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
    expect(await sweep({ maxAgeMs: HOUR })).toBe(0);
    agent.gates.open("on");
  });

  it("forgets by state", async () => {
    const { put, sweep, exists, clock } = createStage();
    const ids = [await put("done"), await put("fail"), await put("ask")];
    clock.now += 2 * HOUR;
    expect(await sweep({ maxAgeMs: HOUR, states: [FAILED] })).toBe(1);
    expect(await Promise.all(ids.map((id) => exists(id)))).toEqual([true, false, true]);
    expect(await sweep({ maxAgeMs: HOUR, states: [INPUT_REQUIRED, AUTH_REQUIRED] })).toBe(1);
    expect(await Promise.all(ids.map((id) => exists(id)))).toEqual([true, false, false]);
  });

  it("forgets by tenant: a tenant's own rule takes the place of the general one, for the same states", async () => {
    const { put, sweep, exists, clock } = createStage();
    const tenants = ["", "a", "b"];
    const ended = await Promise.all(tenants.map((tenant) => put("done", tenant)));
    const waiting = await Promise.all(tenants.map((tenant) => put("ask", tenant)));
    const exist = (ids: readonly string[]) => Promise.all(ids.map((id, index) => exists(id, tenants[index])));
    clock.now += 2 * HOUR;
    const general = { maxAgeMs: HOUR, states: [COMPLETED, INPUT_REQUIRED] };
    const longer = { tenant: "a", maxAgeMs: 5 * HOUR, states: [COMPLETED] };
    expect(await sweep(general, longer)).toBe(5);
    expect(await exist(ended)).toEqual([false, true, false]);
    expect(await exist(waiting)).toEqual([false, false, false]);
    clock.now += 5 * HOUR;
    expect(await sweep(general, { ...longer, maxAgeMs: Number.POSITIVE_INFINITY })).toBe(0);
    expect(await sweep(longer)).toBe(1);
  });

  it("makes an expired task TaskNotFound everywhere", async () => {
    const { put, sweep, clock, call, send } = createStage();
    const message = { messageId: "kept", contextId: "c" };
    const done = taskOf(await send("done", message)).id;
    const asked = taskOf(await send("ask", { contextId: "waiting" })).id;
    await put("fail", "a");
    clock.now += 2 * HOUR;
    await sweep({ maxAgeMs: HOUR }, { maxAgeMs: HOUR, states: [INPUT_REQUIRED] });
    for (const id of [done, asked]) {
      const resume = withParameters({ "last-event-id": `${id}:1` });
      expect(await reasonOf(call("getTask", { id }))).toBe("TASK_NOT_FOUND");
      expect(await reasonOf(call("cancelTask", { id }))).toBe("TASK_NOT_FOUND");
      expect(await reasonOf(call("subscribeToTask", { id }))).toBe("TASK_NOT_FOUND");
      expect(await reasonOf(call("subscribeToTask", { id }, resume))).toBe("TASK_NOT_FOUND");
      expect(await reasonOf(send("done", { taskId: id }))).toBe("TASK_NOT_FOUND");
    }
    for (const filter of [
      {},
      { contextId: "c" },
      { status: COMPLETED },
      { contextId: "waiting", status: INPUT_REQUIRED },
    ]) {
      const { tasks, totalSize } = messageOf<ListTasksResponse>(await call("listTasks", filter));
      expect([tasks.length, totalSize]).toEqual([0, 0]);
    }
    const again = taskOf(await send("done", message));
    expect([again.id === done, again.contextId]).toEqual([false, "c"]);
    const fresh = taskOf(await send("done", { contextId: "waiting" }));
    expect(fresh.id).not.toBe(asked);
  });

  it("ends the streams of a task that it forgets, with TaskNotFound, and no others", async () => {
    const { send, call, sweep, clock } = createStage();
    const forgotten = taskOf(await send("ask")).id;
    clock.now += 2 * HOUR;
    const kept = taskOf(await send("ask")).id;
    const reading = await Promise.all(
      [forgotten, kept].map(async (id) => {
        const events = iteratorOf(await call("subscribeToTask", { id }));
        await events.next();
        return { rest: readAll(events) };
      }),
    );
    const [lost, rest] = reading.map((each) => each.rest);
    const reason = reasonOf(lost as Promise<unknown>);
    await sweep({ maxAgeMs: HOUR, states: [INPUT_REQUIRED] });
    expect(await reason).toBe("TASK_NOT_FOUND");
    await call("cancelTask", { id: kept });
    expect((await rest)?.map(summary)).toEqual(["status CANCELED"]);
  });

  it("ends the run of a task that it forgets while it waits for authorisation", async () => {
    const { send, sweep, clock, engine, agent, faults } = createStage();
    const { id } = taskOf(await send("auth"));
    clock.now += 2 * HOUR;
    await sweep({ maxAgeMs: HOUR, states: [AUTH_REQUIRED] });
    expect(await reasonOf(send("token", { taskId: id }))).toBe("TASK_NOT_FOUND");
    agent.gates.open("on");
    // Nobody has told the run; it finds out when it has something to say.
    const [run] = engine.runs.list();
    await run?.cancel({}, 10);
    expect(engine.runs.list()).toEqual([]);
    expect(faults).toEqual([]);
  });

  it("lets calls through while it sweeps", async () => {
    const { put, sweep, clock, call } = createStage();
    const ids = await Promise.all(Array.from({ length: 300 }, () => put("done")));
    clock.now += 2 * HOUR;
    const young = await put("done");
    let over = false;
    const sweeping = sweep({ maxAgeMs: HOUR }).then((count) => {
      over = true;
      return count;
    });
    await new Promise(setImmediate);
    await call("getTask", { id: young });
    expect(over).toBe(false);
    expect(await sweeping).toBe(ids.length);
  });
});

it.each([WIRES[0] as Wire, WIRES.at(-1) as Wire])(
  "a stream over $name ends with TaskNotFound when the gateway forgets its task by rule or command",
  async ({ connect }) => {
    const agent = createScriptedAgent(scripts);
    const served = [
      { agent },
      { tenant: "t", agent, retention: [{ states: [INPUT_REQUIRED], maxAgeMs: HOUR }] },
    ];
    const gateway = await startGateway({ agents: served });
    const client = connect(gateway);
    const streams = [];
    for (const tenant of ["", "t"]) {
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "ask" }] };
      const answer = await client.call("SendMessage", { tenant, message });
      assert.ok(answer.kind === "ok");
      const { task } = answer.message as unknown as { task: { id: string } };
      const stream = client.stream("SubscribeToTask", { tenant, id: task.id });
      expect((await stream.next()).kind).toBe("event");
      streams.push(stream);
    }
    expect(await gateway.gateway.prune([{ maxAgeMs: 0, states: [INPUT_REQUIRED] }])).toBe(2);
    for (const stream of streams) {
      expect(await stream.next()).toMatchObject({ kind: "error", error: { reason: "TASK_NOT_FOUND" } });
    }
    await client.close();
    await gateway.close();
  },
);

it("a sweep that is stopped ends quietly, though its store is closed", async () => {
  const store = createSqliteStore({ path: join(dir, "stopped.db") });
  const { send } = createTestEngine(scripts, { store });
  await Promise.all(Array.from({ length: 200 }, () => send("done")));
  const faults: unknown[] = [];
  const retention = createRetention({
    store,
    rules: () => [{ maxAgeMs: -1 }],
    everyMs: 1,
    batch: 10,
    onFault: (cause) => faults.push(cause),
  });
  retention.start();
  await expect
    .poll(async () => (await store.countByState()).get(COMPLETED) ?? 0, { interval: 1 })
    .toBeLessThan(200);
  retention.stop();
  await store.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(faults).toEqual([]);
});
