import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRetention } from "../../../src/core/retention.js";
import type { Message, SendMessageResponse, Task } from "../../../src/protocol/schema.js";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import {
  createTestEngine,
  leadOf,
  readAll,
  summary,
  type TestEngineOptions,
  withParameters,
} from "../../support/engine.js";
import { createHeldStore } from "../../support/held-store.js";
import { createJitteryStore } from "../../support/jittery-store.js";
import { messageOf, reasonOf, stateName, taskOf } from "../../support/outcomes.js";
import { createRandom } from "../../support/random.js";
import { createSqliteStores } from "../../support/sqlite-stores.js";
import { createTempDir } from "../../support/temp-dir.js";

const ALICE = { tenant: "", owner: "alice" };
const same = { messageId: "same" };
const scripts = {
  go: [{ status: "WORKING" }, { gate: "on" }, { done: "COMPLETED" }],
  quick: [{ status: "WORKING" }, { artifact: "a", parts: "x" }, { done: "COMPLETED" }],
  fails: [{ throw: "boom" }],
  breaks: [{ status: "WORKING" }, { throw: "boom" }],
  say: [{ message: "hi" }],
  held: [{ hold: "answer" }, { done: "COMPLETED" }],
  ask: [{ done: "INPUT_REQUIRED", parts: "which?" }],
  this: [{ gate: "on" }, { done: "COMPLETED" }],
} as const;

const dir = createTempDir();
let files = 0;
const openSqlite = createSqliteStores();

const STORES: readonly (readonly [string, () => FullTaskStore])[] = [
  ["memory", createMemoryStore],
  ["SQLite", () => openSqlite(join(dir, `${files++}.db`))],
];

describe.each(STORES)("a repeated message on %s (S2-04)", (_, open) => {
  const engineOn = (options: TestEngineOptions = {}) =>
    createTestEngine(scripts, { store: open(), ...options });

  it("joins the run, blocking and streaming, and the agent is asked once", async () => {
    const { send, stream, agent } = engineOn();
    const first = send("go", same);
    await agent.gates.reached("on");
    for (let tick = 0; tick < 5; tick += 1) await new Promise(setImmediate);
    const second = send("go", same);
    const now = taskOf(await send("go", same, { returnImmediately: true }));
    expect(stateName(now)).toBe("WORKING");
    const events = await stream("go", same);
    const lead = await leadOf(events);
    expect(stateName(lead)).toBe("WORKING");
    const rest = readAll(events);
    agent.gates.open("on");
    const ids = [taskOf(await first).id, taskOf(await second).id, now.id, lead.id];
    expect(new Set(ids).size).toBe(1);
    expect((await rest).map(summary)).toEqual(["status COMPLETED"]);
    expect(agent.record.turns).toHaveLength(1);
  });

  it("finds the task after success and after failure, by either method", async () => {
    for (const [text, state] of [
      ["quick", "COMPLETED"],
      ["breaks", "FAILED"],
    ] as const) {
      const { send, stream, agent } = engineOn();
      const first = taskOf(await send(text, same));
      const again = taskOf(await send(text, same));
      expect([stateName(again), again.id]).toEqual([state, first.id]);
      const events = await readAll(await stream(text, same));
      expect(events.map(summary)).toEqual([`task ${state}`]);
      expect(agent.record.turns).toHaveLength(1);
    }
  });

  it("asks the agent again when it failed before there was anything to remember", async () => {
    const { send, agent } = engineOn();
    expect(await reasonOf(send("fails", same))).toBe("INTERNAL");
    expect(await reasonOf(send("fails", same))).toBe("INTERNAL");
    expect(agent.record.turns).toHaveLength(2);
  });

  it("gets the same message answer, by either method", async () => {
    const { send, stream, agent } = engineOn();
    const first = (await send("say", same)).payload.value as Message;
    const again = (await send("say", same)).payload.value as Message;
    const [event] = await readAll(await stream("say", same));
    const streamed = event?.response.payload.value as Message;
    expect([again.messageId, streamed.messageId]).toEqual([first.messageId, first.messageId]);
    expect(agent.record.turns).toHaveLength(1);
  });

  it("is one message while the agent has not answered yet, whoever waits", async () => {
    const { send, agent } = engineOn();
    const all = [1, 2, 3].map(() => send("held", same));
    await agent.gates.reached("answer");
    agent.gates.open("answer");
    expect(new Set((await Promise.all(all)).map((each) => taskOf(each).id)).size).toBe(1);
    expect(agent.record.turns).toHaveLength(1);
  });

  it("is looked up before anything is refused: a follow-up to a task that is busy by it, or has ended", async () => {
    const { send, agent } = engineOn();
    const { id } = taskOf(await send("ask"));
    const followUp = { taskId: id, messageId: "answer" };
    const first = send("this", followUp);
    await agent.gates.reached("on");
    const busy = taskOf(await send("this", followUp, { returnImmediately: true }));
    expect([busy.id, stateName(busy)]).toEqual([id, "WORKING"]);
    agent.gates.open("on");
    expect(stateName(taskOf(await first))).toBe("COMPLETED");
    const ended = taskOf(await send("this", followUp));
    expect([ended.id, stateName(ended)]).toEqual([id, "COMPLETED"]);
    expect(await reasonOf(send("this", { taskId: id }))).toBe("UNSUPPORTED_OPERATION");
  });

  it("with other content is refused, with another configuration it is the same", async () => {
    const { send } = engineOn();
    const { id } = taskOf(await send("quick", same));
    await expect(send("go", same)).rejects.toMatchObject({
      reason: "INVALID_ARGUMENT",
      violations: [{ field: "message.messageId" }],
    });
    expect(await reasonOf(send("quick", { ...same, contextId: "c" }))).toBe("INVALID_ARGUMENT");
    expect(await reasonOf(send("quick", { ...same, metadata: { a: 1 } }))).toBe("INVALID_ARGUMENT");
    const configuration = { historyLength: 0, acceptedOutputModes: ["text/plain"] };
    expect(taskOf(await send("quick", same, configuration)).id).toBe(id);
    const ordered = taskOf(await send("quick", { messageId: "m", metadata: { a: 1, b: { c: 2, d: 3 } } }));
    const turned = taskOf(await send("quick", { messageId: "m", metadata: { b: { d: 3, c: 2 }, a: 1 } }));
    expect(turned.id).toBe(ordered.id);
  });

  it("of another owner, or at another tenant, is another message", async () => {
    const { send, call } = engineOn({ tenants: ["other"] });
    const ids = [taskOf(await send("quick", same)).id];
    const bob = withParameters({ "x-owner": "bob" });
    ids.push(taskOf(await send("quick", same, {}, bob)).id);
    const parts = [{ content: { case: "text", value: "quick" } }];
    const message = { ...same, role: 1, parts };
    const elsewhere = await call("sendMessage", { tenant: "other", message });
    ids.push(taskOf(messageOf<SendMessageResponse>(elsewhere)).id);
    expect(new Set(ids).size).toBe(3);
  });

  it("of anonymous callers is the same by id and content", async () => {
    const { send } = engineOn({ owner: "" });
    const first = taskOf(await send("quick", same));
    expect(taskOf(await send("quick", same)).id).toBe(first.id);
    expect(taskOf(await send("quick", { ...same, contextId: "c" })).id).not.toBe(first.id);
  });

  it("is new each time where idempotency is off", async () => {
    const { send, agent } = engineOn({ policy: { idempotency: false } });
    const ids = await Promise.all([1, 2, 3].map(async () => taskOf(await send("quick", same)).id));
    expect(new Set(ids).size).toBe(3);
    expect(agent.record.turns).toHaveLength(3);
  });

  it("goes on for the second caller when the first leaves before it was started", async () => {
    const { send, agent } = engineOn({ policy: { busy: "queue" } });
    const { id } = taskOf(await send("go", {}, { returnImmediately: true }));
    await agent.gates.reached("on");
    const leaving = new AbortController();
    const queued = { taskId: id, messageId: "queued" };
    const first = reasonOf(send("quick", queued, {}, { signal: leaving.signal }));
    const second = reasonOf(send("quick", queued));
    await new Promise(setImmediate);
    leaving.abort();
    expect(await first).toBe("CANCELLED");
    agent.gates.open("on");
    // It was heard: the task has ended meanwhile.
    expect(await second).toBe("UNSUPPORTED_OPERATION");
  });

  it("sent many times at once over a store that takes its time starts one run", async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const store = createJitteryStore(open(), createRandom(seed));
      const { send, agent } = createTestEngine(scripts, { store });
      const all = Array.from({ length: 5 }, async () => taskOf(await send("quick", same)).id);
      expect(new Set(await Promise.all(all)).size).toBe(1);
      expect(agent.record.turns).toHaveLength(1);
    }
  });
});

it("a repeated message finds its task or answer after a restart (S2-04, S2-10)", async () => {
  const path = join(dir, "restart.db");
  const store = createSqliteStore({ path });
  const before = createTestEngine(scripts, { store });
  const done = taskOf(await before.send("quick", { messageId: "done" }));
  const cut = taskOf(await before.send("go", { messageId: "cut" }, { returnImmediately: true }));
  const said = (await before.send("say", { messageId: "said" })).payload.value as Message;
  await store.close();
  const after = createTestEngine(scripts, { store: openSqlite(path) });
  await after.engine.recover();
  expect(taskOf(await after.send("quick", { messageId: "done" })).id).toBe(done.id);
  const failed = taskOf(await after.send("go", { messageId: "cut" }));
  expect([failed.id, stateName(failed)]).toEqual([cut.id, "FAILED"]);
  const again = (await after.send("say", { messageId: "said" })).payload.value as Message;
  expect(again.messageId).toBe(said.messageId);
  expect(after.agent.record.turns).toEqual([]);
});

it("two gateways that get the same message at once make one task, and both callers get it (S2-04)", async () => {
  const held = createHeldStore();
  const here = createTestEngine(scripts, { store: held.store });
  const there = createTestEngine(scripts, { store: held.store });
  held.holds = () => true;
  const first = here.send("quick", same);
  await held.gates.reached("commit");
  held.holds = () => false;
  const winner = taskOf(await there.send("quick", same));
  held.gates.open("commit");
  expect(taskOf(await first).id).toBe(winner.id);
  expect(here.engine.runs.list()).toEqual([]);
  expect((await held.store.list(ALICE, { pageSize: 10, artifacts: false })).total).toBe(1);
});

describe("keys of messages (S2-04)", () => {
  it("are forgotten by age, where that is configured, and with their task", async () => {
    let now = 1_000_000;
    const store = createMemoryStore({ now: () => now });
    const { send, agent } = createTestEngine(scripts, { store, now: () => now });
    const first = taskOf(await send("quick", same));
    const sweep = (maxAgeMs: number) =>
      createRetention({
        store,
        rules: () => [],
        messageKeyMaxAgeMs: maxAgeMs,
        now: () => now,
        onFault: () => undefined,
      }).sweep();
    now += 1_000;
    await sweep(5_000);
    expect(taskOf(await send("quick", same)).id).toBe(first.id);
    now += 10_000;
    await sweep(5_000);
    const second = taskOf(await send("quick", same));
    expect(second.id).not.toBe(first.id);
    expect((await store.get(ALICE, first.id))?.task.id).toBe(first.id);
    now += 1_000;
    const rules = [{ maxAgeMs: 500 }];
    await createRetention({ store, rules: () => rules, now: () => now, onFault: () => undefined }).sweep();
    expect(taskOf(await send("quick", same)).id).not.toBe(second.id);
    expect(agent.record.turns).toHaveLength(3);
  });

  it("point to nothing for a moment when a task goes away while its message is repeated: it is a new one", async () => {
    const store = createMemoryStore();
    const vanishing: FullTaskStore = {
      ...store,
      async byMessage(scope, messageId) {
        const found = await store.byMessage(scope, messageId);
        if (found !== undefined)
          await store.expire({ states: [3], beforeMs: Number.MAX_SAFE_INTEGER, limit: 9 });
        return found;
      },
    };
    const { send } = createTestEngine(scripts, { store: vanishing });
    const first = taskOf(await send("quick", same));
    const second: Task = taskOf(await send("quick", same));
    expect(second.id).not.toBe(first.id);
  });
});
