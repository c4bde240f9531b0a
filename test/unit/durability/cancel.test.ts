import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../../src/protocol/schema.js";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTestEngine, iteratorOf, readAll, type TestEngine } from "../../support/engine.js";
import { createJitteryStore } from "../../support/jittery-store.js";
import { messageOf, reasonOf, stateName, taskOf, textsOf } from "../../support/outcomes.js";
import { createRandom, type Random } from "../../support/random.js";
import { createTempDir } from "../../support/temp-dir.js";

const SEEDS = Array.from({ length: 60 }, (_, index) => index + 1);
const ALICE = { tenant: "", owner: "alice" };
const dir = createTempDir();
const sqlite = createSqliteStore({ path: join(dir, "cancel.db") });
afterAll(() => sqlite.close());
const STORES: readonly (readonly [string, () => FullTaskStore])[] = [
  ["memory", createMemoryStore],
  ["SQLite", () => sqlite],
];

interface Race extends TestEngine {
  readonly random: Random;
  /** Waits some turns of the event loop. */
  pause(): Promise<void>;
  cancel(id: string): Promise<string>;
  /** The task as it is stored, with the statuses of its log in order. */
  stored(id: string): Promise<{ readonly task: Task; readonly states: readonly string[] }>;
}

function createRace(open: () => FullTaskStore, seed: number): Race {
  const random = createRandom(seed);
  const store = createJitteryStore(open(), random);
  const engine = createTestEngine(
    {
      go: [{ status: "WORKING" }, { gate: "end" }, { done: "COMPLETED" }],
      ask: [{ done: "INPUT_REQUIRED", parts: "which?" }],
      more: [{ gate: "end" }, { done: "COMPLETED" }],
    },
    { store, cancelGraceMs: 1_000 },
  );
  return {
    ...engine,
    random,
    async pause() {
      for (let ticks = random.below(12); ticks > 0; ticks -= 1) await new Promise(setImmediate);
    },
    async cancel(id) {
      try {
        return stateName(messageOf<Task>(await engine.call("cancelTask", { id })));
      } catch (error) {
        return await reasonOf(Promise.reject(error));
      }
    },
    async stored(id) {
      const entries = await store.entries(ALICE, id, 0, 1_000);
      const states = entries.flatMap(({ event: { response } }) =>
        response.payload.case === "statusUpdate"
          ? [TaskState[response.payload.value.status?.state ?? 0] ?? ""]
          : [],
      );
      return { task: (await store.get(ALICE, id))?.task as Task, states };
    },
  };
}

const TERMINAL = ["COMPLETED", "CANCELED", "FAILED", "REJECTED"];

/** Whoever won: there is one end, nothing comes after it, and the task is what its log says. */
async function expectOneEnd(race: Race, id: string): Promise<string> {
  await Promise.all(race.engine.runs.list().map(({ ended }) => ended));
  const { task, states } = await race.stored(id);
  expect(states.filter((state) => TERMINAL.includes(state))).toHaveLength(1);
  expect(stateName(task)).toBe(states.at(-1));
  expect(race.engine.runs.list()).toEqual([]);
  return stateName(task);
}

describe.each(STORES)("cancel on %s (S0-14, S2-02)", (_, open) => {
  it("against completion: one wins, and both callers and the stream agree", async () => {
    const won = new Set<string>();
    for (const seed of SEEDS) {
      const race = createRace(open, seed);
      const events = await race.stream("go");
      const lead = (await events.next()).value?.response.payload.value as Task;
      const all = readAll(events);
      const blocked = race.send("go", { messageId: `blocked-${seed}` }).then(taskOf);
      await race.pause();
      const canceling = race.cancel(lead.id);
      await race.pause();
      race.agent.gates.openAll();
      const canceled = await canceling;
      const end = await expectOneEnd(race, lead.id);
      won.add(end);
      expect(canceled).toBe(end === "CANCELED" ? "CANCELED" : "TASK_NOT_CANCELABLE");
      const last = (await all).at(-1)?.response.payload;
      expect(last?.case === "statusUpdate" && TaskState[last.value.status?.state ?? 0]).toBe(end);
      expect(stateName(await blocked)).toBe("COMPLETED");
      expect(await race.cancel(lead.id)).toBe(canceled);
    }
    expect([...won].sort()).toEqual(["CANCELED", "COMPLETED"]);
  });

  it("against cancel: each gets the CANCELED task, the agent is stopped once", async () => {
    for (const seed of SEEDS) {
      const race = createRace(open, seed);
      const { id } = taskOf(await race.send("go", {}, { returnImmediately: true }));
      const canceling = Promise.all(
        Array.from({ length: 4 }, async () => {
          await race.pause();
          return await race.cancel(id);
        }),
      );
      expect(await canceling).toEqual(["CANCELED", "CANCELED", "CANCELED", "CANCELED"]);
      expect(await expectOneEnd(race, id)).toBe("CANCELED");
      expect(race.agent.record.aborted).toBe(1);
    }
  });

  it("of a waiting task against follow-ups: each message is in the history or refused, and the readers see it all", async () => {
    const outcomes = new Set<string>();
    for (const seed of SEEDS) {
      const race = createRace(open, seed);
      const { id, contextId } = taskOf(await race.send("ask"));
      const events = iteratorOf(await race.call("subscribeToTask", { id }));
      await events.next();
      const all = readAll(events);
      const followUps = ["a", "b"].map(async (name) => {
        await race.pause();
        const messageId = `${name}-${seed}`;
        const sent = race.send("more", { taskId: id, contextId, messageId }, { returnImmediately: true });
        return { messageId, reason: await reasonOf(sent) };
      });
      await race.pause();
      const canceling = race.cancel(id);
      const sent = await Promise.all(followUps);
      race.agent.gates.openAll();
      const canceled = await canceling;
      const end = await expectOneEnd(race, id);
      expect(canceled).toBe(end === "CANCELED" ? "CANCELED" : "TASK_NOT_CANCELABLE");
      const { task, states } = await race.stored(id);
      const accepted = sent.filter(({ reason }) => reason === "no error").map(({ messageId }) => messageId);
      expect(accepted.length).toBeLessThanOrEqual(1);
      for (const { reason } of sent) expect(["no error", "UNSUPPORTED_OPERATION"]).toContain(reason);
      const history = task.history.map(({ messageId }) => messageId);
      expect(history.filter((each) => sent.some(({ messageId }) => messageId === each))).toEqual(accepted);
      expect(textsOf(task.history)).toEqual(
        ["ask", "which?", ...accepted.map(() => "more")].slice(0, task.history.length),
      );
      const seen = (await all).map(({ response: { payload } }) =>
        payload.case === "statusUpdate" ? TaskState[payload.value.status?.state ?? 0] : payload.case,
      );
      expect(seen).toEqual(states.slice(1));
      outcomes.add(`${accepted.length} ${end}`);
    }
    expect(outcomes.size).toBeGreaterThan(1);
  });

  it("of a task that has ended is refused, however it ended, and changes nothing", async () => {
    const engine = createTestEngine(
      {
        C: [{ done: "COMPLETED" }],
        F: [{ done: "FAILED" }],
        R: [{ done: "REJECTED" }],
        X: [{ done: "CANCELED" }],
      },
      { store: open() },
    );
    const outcomes: string[] = [];
    for (const text of ["C", "F", "R", "X"]) {
      const { id } = taskOf(await engine.send(text, { messageId: crypto.randomUUID() }));
      const before = await engine.store.get(ALICE, id);
      outcomes.push(await reasonOf(engine.call("cancelTask", { id })));
      expect((await engine.store.get(ALICE, id))?.seq).toBe(before?.seq);
    }
    expect(outcomes).toEqual([
      "TASK_NOT_CANCELABLE",
      "TASK_NOT_CANCELABLE",
      "TASK_NOT_CANCELABLE",
      "no error",
    ]);
  });

  it("waits for an agent that takes its time, and drops what one says that takes too long", async () => {
    const scripts = {
      slow: [{ deaf: true }, { gate: "on" }, { artifact: "last words", parts: "bye" }, { done: "COMPLETED" }],
    } as const;
    const patient = createTestEngine(scripts, { store: open(), cancelGraceMs: 10_000 });
    const heard = taskOf(
      await patient.send("slow", { messageId: crypto.randomUUID() }, { returnImmediately: true }),
    );
    const refused = reasonOf(patient.call("cancelTask", { id: heard.id }));
    await patient.agent.gates.reached("on");
    patient.agent.gates.open("on");
    expect(await refused).toBe("TASK_NOT_CANCELABLE");

    const hasty = createTestEngine(scripts, { store: open(), cancelGraceMs: 20 });
    const dropped = taskOf(
      await hasty.send("slow", { messageId: crypto.randomUUID() }, { returnImmediately: true }),
    );
    const reply = await hasty.call("cancelTask", { id: dropped.id });
    expect(stateName(messageOf<Task>(reply))).toBe("CANCELED");
    const seq = (await hasty.store.get(ALICE, dropped.id))?.seq;
    hasty.agent.gates.open("on");
    await hasty.agent.idle();
    await new Promise(setImmediate);
    const after = await hasty.store.get(ALICE, dropped.id);
    expect(after?.seq).toBe(seq);
    expect(after?.task.artifacts).toEqual([]);
  });
});
