import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../src/stores/index.js";
import { createTestEngine, readAll, summary, withParameters } from "../../support/engine.js";
import { createJitteryStore } from "../../support/jittery-store.js";
import { reasonOf, stateName, taskOf, textsOf } from "../../support/outcomes.js";
import { createRandom } from "../../support/random.js";
import type { Script } from "../../support/scripted-agent.js";

const BUSY = "Task is already working.";
const ALICE = { tenant: "", owner: "alice" };
const ticks = async (count = 8) => {
  for (let tick = 0; tick < count; tick += 1) await new Promise(setImmediate);
};

/** `turn 1`, `turn 2`… each ask for more; `last` completes. */
const TURNS: Readonly<Record<string, Script>> = Object.fromEntries([
  ["first", [{ gate: "on" }, { done: "INPUT_REQUIRED" }]],
  ...Array.from({ length: 8 }, (_, index) => [
    `turn ${index}`,
    [{ status: "WORKING" }, { done: "INPUT_REQUIRED" }],
  ]),
  ["last", [{ done: "COMPLETED" }]],
]);

describe("messages to a busy task (S0-17)", () => {
  it("are refused where that is the policy", async () => {
    const { send, agent } = createTestEngine(TURNS);
    const { id } = taskOf(await send("first", {}, { returnImmediately: true }));
    await agent.gates.reached("on");
    await expect(send("turn 1", { taskId: id })).rejects.toThrow(BUSY);
    agent.gates.open("on");
    await ticks();
    expect(stateName(taskOf(await send("turn 1", { taskId: id })))).toBe("INPUT_REQUIRED");
  });

  it("wait in line where that is the policy, and are heard in the order in which they came", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const store = createJitteryStore(createMemoryStore(), createRandom(seed));
      const { send, agent } = createTestEngine(TURNS, { store, policy: { busy: "queue" } });
      const { id, contextId } = taskOf(await send("first", {}, { returnImmediately: true }));
      await agent.gates.reached("on");
      const waiting: Promise<unknown>[] = [];
      for (let index = 0; index < 8; index += 1) {
        waiting.push(send(`turn ${index}`, { taskId: id, ...(index % 2 && { contextId }) }));
        await ticks(40); // so that it stands in line before the next one comes
      }
      agent.gates.open("on");
      // While the line moves on, newcomers do not push in.
      await waiting[3];
      const late = send("last", { taskId: id });
      await Promise.all([...waiting, late]);
      const expected = ["first", ...Array.from({ length: 8 }, (_, index) => `turn ${index}`), "last"];
      expect(agent.record.turns.map(({ text }) => text)).toEqual(expected);
      expect(textsOf((await store.get(ALICE, id))?.task.history ?? [])).toEqual(expected);
    }
  });

  it("are not held up by one that leaves the line", async () => {
    const { send, agent } = createTestEngine(TURNS, { policy: { busy: "queue" } });
    const { id } = taskOf(await send("first", {}, { returnImmediately: true }));
    await agent.gates.reached("on");
    const leaving = new AbortController();
    const one = reasonOf(send("turn 1", { taskId: id }, {}, { signal: leaving.signal }));
    await ticks();
    const two = reasonOf(send("turn 2", { taskId: id }, {}, { signal: leaving.signal }));
    await ticks();
    const three = send("turn 3", { taskId: id });
    await ticks();
    leaving.abort();
    expect([await one, await two]).toEqual(["CANCELLED", "CANCELLED"]);
    agent.gates.open("on");
    await three;
    expect(agent.record.turns.map(({ text }) => text)).toEqual(["first", "turn 3"]);
  });

  it("are refused when the line is full, and when the task ends before their turn", async () => {
    const { send, agent } = createTestEngine(
      { first: [{ gate: "on" }, { done: "COMPLETED" }], more: [] },
      { policy: { busy: "queue" } },
    );
    const { id } = taskOf(await send("first", {}, { returnImmediately: true }));
    await agent.gates.reached("on");
    const waiting = Array.from({ length: 64 }, () => reasonOf(send("more", { taskId: id })));
    await ticks();
    expect(await reasonOf(send("more", { taskId: id }))).toBe("RESOURCE_EXHAUSTED");
    agent.gates.open("on");
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["UNSUPPORTED_OPERATION"]));
  });

  it("that wait by their context alone stay with the task, and become a new one when that has ended", async () => {
    const { send, agent } = createTestEngine(
      {
        ...TURNS,
        ask: [{ done: "INPUT_REQUIRED" }],
        work: [{ gate: "work" }, { done: "INPUT_REQUIRED" }],
      },
      { policy: { busy: "queue" } },
    );
    const { id, contextId } = taskOf(await send("ask"));
    const both = [send("work", { contextId }), send("last", { contextId })];
    await agent.gates.reached("work");
    agent.gates.open("work");
    const [worked, ended] = (await Promise.all(both)).map(taskOf);
    expect([worked?.id, ended?.id, ended && stateName(ended)]).toEqual([id, id, "COMPLETED"]);
    const next = taskOf(await send("last", { contextId }));
    expect([next.id === id, next.contextId]).toEqual([false, contextId]);
  });

  it("of a stream begin when their turn comes", async () => {
    const { send, stream, agent } = createTestEngine(TURNS, { policy: { busy: "queue" } });
    const { id } = taskOf(await send("first", {}, { returnImmediately: true }));
    await agent.gates.reached("on");
    const streaming = stream("last", { taskId: id });
    await ticks();
    agent.gates.open("on");
    expect((await readAll(await streaming)).map(summary)).toEqual(["task WORKING", "status COMPLETED"]);
  });
});

describe("tasks of one context (S0-17, S2-03)", () => {
  const scripts = {
    go: [{ gate: "on" }, { done: "COMPLETED" }],
    ask: [{ done: "INPUT_REQUIRED", parts: "which?" }],
    auth: [{ status: "AUTH_REQUIRED", parts: "log in" }, { gate: "on" }, { done: "COMPLETED" }],
    say: [{ hold: "on" }, { message: "hi" }],
    done: [{ done: "COMPLETED" }],
  } as const;

  it("run side by side by default", async () => {
    const { send, agent } = createTestEngine(scripts);
    const both = [send("go", { contextId: "c" }), send("go", { contextId: "c" })];
    await agent.gates.reached("on");
    await ticks();
    expect(agent.record.started).toBe(2);
    agent.gates.open("on");
    const ids = (await Promise.all(both)).map((each) => taskOf(each).id);
    expect(new Set(ids).size).toBe(2);
  });

  it.each(["go", "auth", "say"] as const)(
    "one at a time where that is the policy: while %j is worked on, the next is refused",
    async (first) => {
      const { send, agent } = createTestEngine(scripts, {
        policy: { concurrency: "one", followUps: "new-task" },
        answerGraceMs: 60_000,
      });
      const running = send(first, { contextId: "c" });
      await agent.gates.reached("on");
      await ticks();
      await expect(send("go", { contextId: "c" })).rejects.toThrow(BUSY);
      const elsewhere = taskOf(await send("done", { contextId: "d" }));
      const stranger = taskOf(
        await send("done", { contextId: "c" }, {}, withParameters({ "x-owner": "bob" })),
      );
      expect([stateName(elsewhere), stateName(stranger)]).toEqual(["COMPLETED", "COMPLETED"]);
      agent.gates.open("on");
      await running;
      await ticks();
      expect(stateName(taskOf(await send("done", { contextId: "c" })))).toBe("COMPLETED");
    },
  );

  it("one at a time holds for follow-ups to another task of the context as well", async () => {
    const { send, agent } = createTestEngine(scripts, {
      policy: { concurrency: "one", followUps: "new-task" },
    });
    const { id } = taskOf(await send("ask", { contextId: "c" }));
    const running = send("go", { contextId: "c" });
    await agent.gates.reached("on");
    await expect(send("done", { taskId: id })).rejects.toThrow(BUSY);
    agent.gates.open("on");
    await running;
    await ticks();
    expect(stateName(taskOf(await send("done", { taskId: id })))).toBe("COMPLETED");
  });

  it("by context alone: the one that waits goes on; with none or several, or by policy, it is a new one", async () => {
    const { send } = createTestEngine(scripts);
    const asked = taskOf(await send("ask", { contextId: "c" }));
    const done = taskOf(await send("done", { contextId: "c" }));
    expect([done.id, textsOf(done.history)]).toEqual([asked.id, ["ask", "which?", "done"]]);
    expect(taskOf(await send("done", { contextId: "c" })).id).not.toBe(asked.id);
    const two = [taskOf(await send("ask", { contextId: "d" }))];
    const fresh = createTestEngine(scripts, { policy: { followUps: "new-task" } });
    two.push(
      taskOf(await fresh.send("ask", { contextId: "d" })),
      taskOf(await fresh.send("ask", { contextId: "d" })),
    );
    expect(new Set(two.map(({ id }) => id)).size).toBe(3);
    const third = taskOf(await fresh.send("done", { contextId: "d" }));
    expect(two.map(({ id }) => id)).not.toContain(third.id);
    expect(stateName(taskOf(await fresh.send("done", { taskId: two[1]?.id ?? "" })))).toBe("COMPLETED");
  });

  it("by context alone with several that wait: a new one", async () => {
    const store = createMemoryStore();
    const separate = createTestEngine(scripts, { store, policy: { followUps: "new-task" } });
    const waiting = [
      taskOf(await separate.send("ask", { contextId: "c" })).id,
      taskOf(await separate.send("ask", { contextId: "c" })).id,
    ];
    const { send } = createTestEngine(scripts, { store });
    expect(waiting).not.toContain(taskOf(await send("done", { contextId: "c" })).id);
  });

  it("of another owner are nothing that a message could go on with", async () => {
    const { send } = createTestEngine(scripts);
    const asked = taskOf(await send("ask", { contextId: "c" }));
    const bob = withParameters({ "x-owner": "bob" });
    const fresh = taskOf(await send("done", { contextId: "c" }, {}, bob));
    expect([fresh.id === asked.id, fresh.contextId]).toEqual([false, "c"]);
    expect(await reasonOf(send("done", { taskId: asked.id }, {}, bob))).toBe("TASK_NOT_FOUND");
  });

  it("keep every message in order, over several turns and an inbox", async () => {
    const { send, store } = createTestEngine({
      ask: [
        { status: "WORKING", parts: "thinking" },
        { done: "INPUT_REQUIRED", parts: "which?" },
      ],
      this: [
        { status: "AUTH_REQUIRED", parts: "log in" },
        { inbox: true },
        { done: "INPUT_REQUIRED", parts: "sure?" },
      ],
      yes: [{ status: "WORKING" }, { done: "COMPLETED", parts: "done" }],
    });
    const { id } = taskOf(await send("ask"));
    expect(stateName(taskOf(await send("this", { taskId: id })))).toBe("AUTH_REQUIRED");
    expect(stateName(taskOf(await send("token", { taskId: id })))).toBe("INPUT_REQUIRED");
    const { task } = (await store.get(ALICE, taskOf(await send("yes", { taskId: id })).id)) ?? {};
    const said = ["ask", "thinking", "which?", "this", "log in", "token", "got token", "sure?", "yes"];
    expect(textsOf(task?.history ?? [])).toEqual(said);
    expect(textsOf(task?.status?.message ? [task.status.message] : [])).toEqual(["done"]);
  });
});
