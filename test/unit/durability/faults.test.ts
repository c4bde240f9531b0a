import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Agent, Outcome, Progress, Turn } from "../../../src/agents/agent.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { artifact, complete, working } from "../../../src/agents/progress.js";
import { type Message, PartSchema, type Task, TaskState } from "../../../src/protocol/schema.js";
import { createMemoryStore } from "../../../src/stores/index.js";
import type { FullTaskStore, Write } from "../../../src/stores/task-store.js";
import {
  createTestEngine,
  iteratorOf,
  leadOf,
  readAll,
  summary,
  withParameters,
} from "../../support/engine.js";
import { createHeldStore } from "../../support/held-store.js";
import { messageOf, reasonOf, stateName, taskOf, textsOf } from "../../support/outcomes.js";
import { createSqliteStores } from "../../support/sqlite-stores.js";

const ALICE = { tenant: "", owner: "alice" };
const CHUNKS = 1_000;
const nextTick = () => new Promise(setImmediate);
/** Commits of a SQLite store take a turn of the event loop, those of a memory store none. */
const openSqlite = createSqliteStores();

/** An agent that does what a generator says. */
function agentOf(work: (turn: Turn, signal: AbortSignal) => AsyncGenerator<Progress, Outcome>): Agent {
  return {
    card: createEchoAgent().card,
    answer: async (turn, signal) => ({ kind: "task", work: work(turn, signal) }),
  };
}

/** A store whose commits fail while `down` is set. */
function createFailingStore(store: FullTaskStore = createMemoryStore()) {
  const faults = { down: false };
  const failing: FullTaskStore = {
    ...store,
    async commit(...args) {
      if (faults.down) throw new Error("disk full");
      return await store.commit(...args);
    },
  };
  return { store: failing, faults };
}

// Each of these was a fault once.

it("a stream's first event does not wait for an agent that reports in every tick (S2-05)", async () => {
  let reported = 0;
  const agent = agentOf(async function* () {
    for (; reported < CHUNKS; reported += 1) {
      yield artifact(`${reported}`, { id: "a", append: reported > 0 });
      await nextTick();
    }
    return complete();
  });
  const { stream } = createTestEngine({}, { agent, store: openSqlite() });
  const events = await stream("go");
  await events.next();
  expect(reported).toBeLessThan(CHUNKS / 2);
  expect(await readAll(events)).toHaveLength(CHUNKS + 1);
});

it("a message to a run that waits for authorisation is answered although the agent reports in every tick", async () => {
  let reported = 0;
  const agent = agentOf(async function* () {
    yield { kind: "status", state: TaskState.AUTH_REQUIRED, parts: complete("log in").parts ?? [] };
    for (; reported < CHUNKS; reported += 1) {
      yield artifact(`${reported}`, { id: "a", append: reported > 0 });
      await nextTick();
    }
    return complete();
  });
  const { send, engine } = createTestEngine({}, { agent, store: openSqlite() });
  const { id } = taskOf(await send("go"));
  await send("token", { taskId: id }, { returnImmediately: true });
  expect(reported).toBeLessThan(CHUNKS / 2);
  await Promise.all(engine.runs.list().map(({ ended }) => ended));
});

describe("two who want the same waiting task", () => {
  const scripts = {
    ask: [{ done: "INPUT_REQUIRED" }],
    more: [{ gate: "on" }, { done: "COMPLETED" }],
  } as const;
  const isCancel = (write: Write) => write.kind === "task" && write.status?.state === TaskState.CANCELED;

  async function waitingTask() {
    const held = createHeldStore();
    const engine = createTestEngine(scripts, { store: held.store });
    const { id } = taskOf(await engine.send("ask"));
    const events = iteratorOf(await engine.call("subscribeToTask", { id }));
    await events.next();
    return { ...engine, held, id, rest: readAll(events).then((all) => all.map(summary)) };
  }

  it("a cancel that comes too late for a waiting task looks again, and leaves its readers alone (S0-14)", async () => {
    const { call, send, held, id, rest } = await waitingTask();
    held.holds = isCancel;
    const cancel = call("cancelTask", { id });
    await held.gates.reached("commit");
    const followUp = await send("more", { taskId: id }, { returnImmediately: true });
    expect(stateName(taskOf(followUp))).toBe("WORKING");
    held.holds = () => false;
    held.gates.open("commit");
    expect(stateName(messageOf<Task>(await cancel))).toBe("CANCELED");
    expect(await rest).toEqual(["status WORKING", "status CANCELED"]);
  });

  it("a follow-up that comes too late is told what became of the task, and leaves its readers alone", async () => {
    const { send, held, id, rest, store, agent, engine } = await waitingTask();
    held.holds = (write) => !isCancel(write);
    const followUp = send("more", { taskId: id });
    await held.gates.reached("commit");
    // Another gateway on the same store: here the cancel would find the run.
    const elsewhere = createTestEngine({}, { store });
    const reply = await elsewhere.call("cancelTask", { id });
    expect(stateName(messageOf<Task>(reply))).toBe("CANCELED");
    held.gates.open("commit");
    await expect(followUp).rejects.toThrow("The task has ended and takes no more messages.");
    expect(agent.record.turns).toHaveLength(1);
    await engine.log.recheck(); // as a hub that spans both would
    expect(await rest).toEqual(["status CANCELED"]);
  });
});

it("a repeated message to a run that waits for authorisation is not delivered twice (S2-04)", async () => {
  const { send, store, agent } = createTestEngine({
    go: [
      { status: "AUTH_REQUIRED", parts: "log in" },
      { inbox: true },
      { gate: "on" },
      { done: "COMPLETED" },
    ],
  });
  const { id } = taskOf(await send("go"));
  const token = { taskId: id, messageId: "token-1" };
  const first = send("token", token);
  const second = send("token", token);
  agent.gates.open("on");
  expect(stateName(taskOf(await first))).toBe("COMPLETED");
  expect(taskOf(await second).id).toBe(id);
  expect(taskOf(await send("token", token)).id).toBe(id);
  const history = (await store.get(ALICE, id))?.task.history ?? [];
  expect(textsOf(history).filter((text) => text === "token")).toEqual(["token"]);
});

it("an agent that goes on changing what it handed over changes nothing in the log", async () => {
  const part = create(PartSchema, { content: { case: "text", value: "one" } });
  const bytes = Buffer.from("raw 1");
  const raw = create(PartSchema, { content: { case: "raw", value: bytes } });
  const metadata = { step: { of: 1 } };
  const agent = agentOf(async function* () {
    yield { ...artifact(part, { id: "a" }), metadata } as Progress;
    part.content = { case: "text", value: "two" };
    metadata.step.of = 2;
    yield artifact(raw, { id: "b" });
    bytes.write("raw 2");
    yield artifact(raw, { id: "c" });
    bytes.write("raw 3");
    return complete(part);
  });
  const { stream } = createTestEngine({}, { agent });
  const events = await readAll(await stream("go"));
  const json = events.map((event) => event.json).join("\n");
  expect(json).toContain('"one"');
  expect(json).toContain('"of":1');
  expect(json).toContain(Buffer.from("raw 1").toString("base64"));
  expect(json).toContain(Buffer.from("raw 2").toString("base64"));
  expect(json).not.toContain(Buffer.from("raw 3").toString("base64"));
});

it("an agent that takes up a task gets the user's last message, not its own", async () => {
  const store = createMemoryStore();
  const before = createTestEngine(
    { go: [{ status: "WORKING", parts: "first" }, { status: "WORKING", parts: "second" }, { gate: "on" }] },
    { store },
  );
  const events = await before.stream("go");
  for (let count = 0; count < 3; count += 1) await events.next();
  const resumed: Message[] = [];
  const agent: Agent = {
    ...createEchoAgent(),
    resume: async ({ message }) => {
      resumed.push(message);
      return { kind: "message", parts: complete("went on").parts ?? [] };
    },
  };
  const after = createTestEngine({}, { store, agent });
  await after.engine.recover();
  await Promise.all(after.engine.runs.list().map(({ ended }) => ended));
  expect(textsOf(resumed)).toEqual(["go"]);
});

it("a task that cannot be recovered does not keep the gateway from starting", async () => {
  const store = createMemoryStore();
  const before = createTestEngine({ go: [{ gate: "never" }] }, { store });
  const broken = taskOf(await before.send("go", {}, { returnImmediately: true }));
  const sound = taskOf(await before.send("go", {}, { returnImmediately: true }));
  const damaged: FullTaskStore = {
    ...store,
    async get(scope, id) {
      if (id === broken.id) throw new Error("damaged");
      return await store.get(scope, id);
    },
  };
  const after = createTestEngine({}, { store: damaged });
  await after.engine.recover();
  expect(stateName((await store.get(ALICE, sound.id))?.task as Task)).toBe("FAILED");
  expect(after.faults).toMatchObject([{ taskId: broken.id }]);
});

describe("a store that fails in the middle of a run", () => {
  it("ends the run at once, though its agent says nothing more", async () => {
    const { store, faults } = createFailingStore();
    let why: string | undefined;
    const agent = agentOf(async function* (_, signal) {
      yield working("on it");
      faults.down = true;
      yield working("lost");
      await new Promise((_, reject) => signal.addEventListener("abort", reject, { once: true }));
      return complete();
    });
    const recording: Agent = {
      ...agent,
      answer: (turn, signal) => {
        signal.addEventListener("abort", () => (why = signal.reason.why), { once: true });
        return agent.answer(turn, signal);
      },
    };
    const { send, engine } = createTestEngine({}, { store, agent: recording });
    expect(await reasonOf(send("go"))).toBe("INTERNAL");
    expect(engine.runs.list()).toEqual([]);
    expect(why).toBe("lost");
  });

  it("has its task FAILED once it is back, however long that takes (S2-02)", async () => {
    const { store, faults } = createFailingStore();
    const { stream, call, agent } = createTestEngine(
      { go: [{ gate: "on" }, { status: "WORKING" }, { done: "COMPLETED" }] },
      { store },
    );
    const events = await stream("go");
    const { id } = await leadOf(events);
    faults.down = true;
    agent.gates.open("on");
    expect(await reasonOf(events.next())).toBe("INTERNAL");
    faults.down = false;
    await expect
      .poll(async () => stateName(messageOf<Task>(await call("getTask", { id }))), { timeout: 5_000 })
      .toBe("FAILED");
  });

  it("leaves a waiting task waiting, and its readers too, when the claim of a follow-up cannot be written", async () => {
    const { store, faults } = createFailingStore();
    const { send, call } = createTestEngine(
      { ask: [{ done: "INPUT_REQUIRED" }], more: [{ done: "COMPLETED" }] },
      { store },
    );
    const { id } = taskOf(await send("ask"));
    const events = iteratorOf(await call("subscribeToTask", { id }));
    await events.next();
    const rest = readAll(events);
    faults.down = true;
    expect(await reasonOf(send("more", { taskId: id }))).toBe("INTERNAL");
    faults.down = false;
    expect(stateName(messageOf<Task>(await call("getTask", { id })))).toBe("INPUT_REQUIRED");
    expect(stateName(taskOf(await send("more", { taskId: id })))).toBe("COMPLETED");
    expect((await rest).map(summary)).toEqual(["status WORKING", "status COMPLETED"]);
  });
});

it("a reader that comes late to a long log is not taken for a slow one", async () => {
  const { stream, call, agent, engine } = createTestEngine(
    { go: [{ chunks: 600, of: "a" }, { gate: "on" }, { chunks: 40, of: "b" }, { done: "COMPLETED" }] },
    { maxLag: 100 },
  );
  const all = await stream("go");
  const { id } = await leadOf(all);
  for (let count = 0; count < 600; count += 1) await all.next();
  const resumed = iteratorOf(
    await call("subscribeToTask", { id }, withParameters({ "last-event-id": `${id}:1` })),
  );
  const second = (await resumed.next()).value;
  agent.gates.open("on");
  await Promise.all(engine.runs.list().map(({ ended }) => ended));
  expect(second?.number).toBe(2);
  expect(await readAll(resumed)).toHaveLength(640);
});

it("a gateway that stops refuses a send whose agent has not answered yet, with UNAVAILABLE", async () => {
  const { send, engine, agent } = createTestEngine({ go: [{ hold: "never" }, { done: "COMPLETED" }] });
  const sent = reasonOf(send("go"));
  await agent.gates.reached("never");
  await engine.runs.shutdown(10);
  expect(await sent).toBe("UNAVAILABLE");
  expect(engine.runs.list()).toEqual([]);
});

it("a message to a running turn is heard only once it cannot be lost any more", async () => {
  const held = createHeldStore();
  const { send, agent } = createTestEngine(
    {
      go: [
        { status: "AUTH_REQUIRED", parts: "log in" },
        { inbox: true },
        { gate: "heard" },
        { done: "COMPLETED" },
      ],
    },
    { store: held.store },
  );
  const { id } = taskOf(await send("go"));
  held.holds = () => true;
  const token = send("token", { taskId: id });
  let isHeard = false;
  const heard = agent.gates.reached("heard").then(() => (isHeard = true));
  await held.gates.reached("commit");
  for (let tick = 0; tick < 5; tick += 1) await nextTick();
  expect(isHeard).toBe(false);
  held.gates.openAll();
  await heard;
  agent.gates.open("heard");
  expect(stateName(taskOf(await token))).toBe("COMPLETED");
});

it("messages that a running turn does not read are refused when they become too many", async () => {
  const { send, call, store } = createTestEngine({
    go: [{ status: "AUTH_REQUIRED", parts: "log in" }, { gate: "never" }, { done: "COMPLETED" }],
  });
  const { id } = taskOf(await send("go"));
  const immediately = { returnImmediately: true };
  for (let count = 0; count < 64; count += 1) await send("token", { taskId: id }, immediately);
  expect(await reasonOf(send("token", { taskId: id }, immediately))).toBe("RESOURCE_EXHAUSTED");
  expect((await store.get(ALICE, id))?.task.history).toHaveLength(66);
  await call("cancelTask", { id });
});

it("nothing is shown to anybody before it is durable", async () => {
  const held = createHeldStore();
  const { send, call, stream, agent } = createTestEngine(
    { go: [{ status: "WORKING" }, { gate: "on" }, { artifact: "a", parts: "x" }, { done: "COMPLETED" }] },
    { store: held.store },
  );
  const events = await stream("go", { messageId: "m" });
  const { id } = await leadOf(events);
  await events.next();
  const watching = iteratorOf(await call("subscribeToTask", { id }));
  await watching.next();
  held.holds = () => true;
  const seen: string[] = [];
  const waiting = Promise.all([
    send("go", { messageId: "m" }).then(() => seen.push("blocked caller")),
    events.next().then(() => seen.push("stream")),
    watching.next().then(() => seen.push("subscriber")),
  ]);
  agent.gates.open("on");
  await held.gates.reached("commit");
  for (let tick = 0; tick < 10; tick += 1) await nextTick();
  expect(seen).toEqual([]);
  const late = send("go", { messageId: "m" }).then(() => seen.push("late caller"));
  expect(stateName(messageOf<Task>(await call("getTask", { id })))).toBe("WORKING");
  for (let tick = 0; tick < 10; tick += 1) await nextTick();
  expect(seen).toEqual([]);
  held.gates.openAll();
  await Promise.all([waiting, late]);
  expect(seen).toHaveLength(4);
});
