import { describe, expect, it } from "vitest";
import { createRetention } from "../../../src/core/retention.js";
import { type Task, TaskState } from "../../../src/protocol/schema.js";
import { createMemoryStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTestEngine, iteratorOf, readAll, withParameters } from "../../support/engine.js";
import { createHeldStore } from "../../support/held-store.js";
import { messageOf, reasonOf, stateName, taskOf } from "../../support/outcomes.js";

const ALICE = { tenant: "", owner: "alice" };
const { SUBMITTED, WORKING } = TaskState;
const OPERATIONS = ["commit", "get", "entries", "list", "byMessage", "waiting", "running"] as const;
type Operation = (typeof OPERATIONS)[number];
const scripts = {
  ask: [{ status: "WORKING" }, { artifact: "a", parts: "x" }, { done: "INPUT_REQUIRED", parts: "which?" }],
  more: [{ status: "WORKING" }, { chunks: 3, of: "b" }, { done: "COMPLETED", parts: "done" }],
  hang: [{ status: "WORKING" }, { gate: "never" }, { done: "COMPLETED" }],
  say: [{ message: "hi" }],
} as const;

/** A store of which one call of one operation fails: it rejects, or it throws at once. */
function createFaultyStore(operation: Operation, nth: number, how: "rejects" | "throws") {
  const store = createMemoryStore();
  const plan = { calls: 0, on: true };
  const original = store[operation] as (...args: unknown[]) => Promise<unknown>;
  const faulty = (...args: unknown[]): Promise<unknown> => {
    plan.calls += 1;
    if (!plan.on || plan.calls !== nth) return original(...args);
    const error = new Error("the disk is on fire at /var/secret");
    if (how === "throws") throw error;
    return Promise.reject(error);
  };
  return { plan, sound: store, store: { ...store, [operation]: faulty } as FullTaskStore };
}

/** A little of everything; each step goes on when another has failed. Returns how the steps ended. */
async function live(engine: ReturnType<typeof createTestEngine>): Promise<readonly string[]> {
  const { send, stream, call } = engine;
  const reasons: string[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    let result: T | undefined;
    reasons.push(await reasonOf(work().then((value) => (result = value))));
    return result;
  };
  const asked = await attempt(() => send("ask", { messageId: "ask", contextId: "c" }));
  await attempt(() => send("say", { messageId: "say" }));
  await attempt(() => send("say", { messageId: "say" }));
  const id = asked === undefined ? "gone" : taskOf(asked).id;
  const watching = attempt(async () => await readAll(iteratorOf(await call("subscribeToTask", { id }))));
  await attempt(async () => await readAll(await stream("more", { messageId: "more", contextId: "c" })));
  await attempt(() => call("cancelTask", { id }));
  await watching;
  await attempt(() => call("getTask", { id }));
  await attempt(() => call("listTasks", {}));
  const resume = withParameters({ "last-event-id": `${id}:1` });
  await attempt(async () => await readAll(iteratorOf(await call("subscribeToTask", { id }, resume))));
  const hanging = await attempt(() => send("hang", { messageId: "hang" }, { returnImmediately: true }));
  await attempt(() => call("cancelTask", { id: hanging === undefined ? "gone" : taskOf(hanging).id }));
  return reasons;
}

const EXPECTED = new Set([
  "no error",
  "INTERNAL",
  "TASK_NOT_FOUND",
  "TASK_NOT_CANCELABLE",
  "UNSUPPORTED_OPERATION",
]);

describe.each(OPERATIONS)("a store whose %s fails once", (operation) => {
  it.each(["rejects", "throws"] as const)(
    "%s: callers get INTERNAL without the cause, nothing hangs, and every task comes to an end",
    async (how) => {
      for (let nth = 1; ; nth += 1) {
        const { store, sound, plan } = createFaultyStore(operation, nth, how);
        const engine = createTestEngine(scripts, {
          store,
          policy: { concurrency: "one" },
          cancelGraceMs: 20,
        });
        const reasons = await live(engine);
        const wasHit = plan.calls >= nth;
        plan.on = false;
        for (const reason of reasons) expect(EXPECTED, `${operation} ${nth}`).toContain(reason);
        await Promise.all(engine.engine.runs.list().map(async (run) => await run.cancel({}, 0)));
        expect(engine.engine.runs.list()).toEqual([]);
        expect(engine.engine.log.readerCount()).toBe(0);
        // What was left open is mended soon.
        const open = async () => {
          const counts = await sound.countByState();
          return (counts.get(SUBMITTED) ?? 0) + (counts.get(WORKING) ?? 0);
        };
        await expect.poll(open, { interval: 10, timeout: 3_000 }).toBe(0);
        if (!wasHit) {
          expect(nth, "the operation is part of the scenario").toBeGreaterThan(1);
          expect(reasons).not.toContain("INTERNAL");
          return;
        }
      }
    },
  );
});

describe("a store that is down for a while", () => {
  it("fails what was running, as soon as it is back; what waited still waits", async () => {
    const held = createHeldStore();
    let isDown = false;
    const store: FullTaskStore = {
      ...held.store,
      async commit(...args) {
        if (isDown) throw new Error("gone");
        return await held.store.commit(...args);
      },
      async get(...args) {
        if (isDown) throw new Error("gone");
        return await held.store.get(...args);
      },
    };
    const engine = createTestEngine(
      {
        ...scripts,
        work: [{ status: "WORKING" }, { gate: "on" }, { status: "WORKING" }, { done: "COMPLETED" }],
      },
      { store },
    );
    const { send, call, agent, faults } = engine;
    const asked = taskOf(await send("ask")).id;
    const running = await Promise.all([1, 2, 3].map(() => send("work", {}, { returnImmediately: true })));
    const blocked = reasonOf(send("work"));
    await agent.gates.reached("on");
    for (let tick = 0; tick < 5; tick += 1) await new Promise(setImmediate);
    isDown = true;
    agent.gates.open("on");
    expect(await blocked).toBe("INTERNAL");
    expect(await reasonOf(call("getTask", { id: asked }))).toBe("INTERNAL");
    expect(engine.engine.runs.list()).toEqual([]);
    expect(faults).toHaveLength(4);
    // Longer than the first try to mend.
    await new Promise((resolve) => setTimeout(resolve, 250));
    isDown = false;
    const state = async (id: string) => stateName(messageOf<Task>(await call("getTask", { id })));
    for (const { id } of running.map(taskOf)) {
      await expect.poll(() => state(id), { timeout: 5_000 }).toBe("FAILED");
    }
    expect(await state(asked)).toBe("INPUT_REQUIRED");
    const failed = messageOf<Task>(await call("getTask", { id: taskOf(running[0] as never).id }));
    expect(failed.status?.message?.parts[0]?.content.value).toBe(
      "The progress of this task could not be recorded.",
    );
  });

  it("is asked again by the next sweep and the next start", async () => {
    const store = createMemoryStore();
    let isDown = true;
    const flaky: FullTaskStore = {
      ...store,
      async expire(rule) {
        if (isDown) throw new Error("gone");
        return await store.expire(rule);
      },
      async unfinished(...args) {
        if (isDown) throw new Error("gone");
        return await store.unfinished(...args);
      },
    };
    const { send, engine } = createTestEngine(scripts, { store: flaky });
    const { id } = taskOf(await send("more"));
    const faults: unknown[] = [];
    const retention = createRetention({
      store: flaky,
      rules: () => [{ maxAgeMs: -1_000 }],
      everyMs: 1,
      onFault: (cause) => faults.push(cause),
    });
    retention.start();
    await expect.poll(() => faults.length, { interval: 1 }).toBeGreaterThan(1);
    await expect(engine.recover()).rejects.toThrow("gone");
    isDown = false;
    await expect.poll(() => store.get(ALICE, id), { interval: 1 }).toBeUndefined();
    await engine.recover();
    retention.stop();
  });
});
