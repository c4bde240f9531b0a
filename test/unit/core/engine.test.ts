import { describe, expect, it } from "vitest";
import type { WireEvent } from "../../../src/protocol/event.js";
import { type Message, type Task, TaskState } from "../../../src/protocol/schema.js";
import { createMemoryStore } from "../../../src/stores/memory.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTestEngine, iteratorOf, readAll, summary } from "../../support/engine.js";
import { reasonOf, stateName, taskOf, textsOf } from "../../support/outcomes.js";
import type { ScriptedAgent } from "../../support/scripted-agent.js";

describe("a blocking send (S0-01, S2-01)", () => {
  it("returns the task at its end, with history and artifacts", async () => {
    const { send } = createTestEngine({
      go: [{ status: "WORKING" }, { artifact: "a", parts: "out" }, { done: "COMPLETED", parts: "bye" }],
    });
    const task = taskOf(await send("go"));
    expect(stateName(task)).toBe("COMPLETED");
    expect(textsOf(task.history)).toEqual(["go"]);
    expect(task.artifacts.map((artifact) => artifact.artifactId)).toEqual(["a"]);
  });

  it("returns the task of that moment, not the one it became (AUTH_REQUIRED as progress)", async () => {
    const { send, agent } = createTestEngine({
      go: [
        { status: "AUTH_REQUIRED", parts: "log in" },
        { status: "WORKING" },
        { gate: "on" },
        { done: "COMPLETED" },
      ],
    });
    const task = taskOf(await send("go"));
    expect(stateName(task)).toBe("AUTH_REQUIRED");
    agent.gates.open("on");
    await agent.idle();
  });

  it("with returnImmediately shows the task as it began", async () => {
    const { send, agent } = createTestEngine({ go: [{ gate: "on" }, { done: "FAILED" }] });
    const task = taskOf(await send("go", {}, { returnImmediately: true }));
    expect(stateName(task)).toBe("SUBMITTED");
    agent.gates.open("on");
    await agent.idle();
    expect(stateName(task)).toBe("SUBMITTED");
  });

  it("limits the history to historyLength", async () => {
    const { send } = createTestEngine({ go: [{ done: "COMPLETED" }] });
    expect(taskOf(await send("go", {}, { historyLength: 0 })).history).toEqual([]);
    expect(await reasonOf(send("go", {}, { historyLength: -1 }))).toBe("INVALID_ARGUMENT");
  });
});

describe("an agent that misbehaves (S2-02)", () => {
  it.each([
    ["throws", [{ status: "WORKING" }, { throw: "secret path /etc" }]],
    ["ends without an outcome", [{ status: "WORKING" }]],
    ["yields nonsense", [{ raw: { kind: "nonsense" } as never }]],
    [
      "reports a terminal state as progress",
      [{ raw: { kind: "status", state: TaskState.COMPLETED } as never }],
    ],
    ["sends an artifact without parts", [{ artifact: "a", parts: [] }]],
  ] as const)("%s: the task fails with a clean message", async (_, script) => {
    const { send, faults } = createTestEngine({ go: script as never });
    const task = taskOf(await send("go"));
    expect(stateName(task)).toBe("FAILED");
    expect(JSON.stringify(task.status?.message?.parts)).not.toContain("secret");
    expect(faults).toHaveLength(1);
  });

  it("throws before there is a task: the caller gets INTERNAL and an error id, or the agent's own A2AError", async () => {
    const { send } = createTestEngine({
      a: [{ throw: "boom" }],
      b: [{ fail: "CONTENT_TYPE_NOT_SUPPORTED" }],
    });
    expect(await reasonOf(send("a"))).toBe("INTERNAL");
    expect(await reasonOf(send("b"))).toBe("CONTENT_TYPE_NOT_SUPPORTED");
  });
});

describe("a slow answer", () => {
  it("becomes a task, and a late message its completion", async () => {
    const { send, agent } = createTestEngine(
      { go: [{ hold: "on" }, { message: "late" }] },
      { answerGraceMs: 5 },
    );
    const first = taskOf(await send("go", {}, { returnImmediately: true }));
    expect(stateName(first)).toBe("SUBMITTED");
    agent.gates.open("on");
    await agent.idle();
  });
});

describe("follow-ups (S2-03)", () => {
  const scripts = {
    ask: [{ done: "INPUT_REQUIRED", parts: "which?" }],
    this: [{ gate: "on" }, { done: "COMPLETED", parts: "done" }],
  } as const;

  it("by taskId and by contextId resume the same task, history in order", async () => {
    for (const by of ["taskId", "contextId"] as const) {
      const { send, agent } = createTestEngine(scripts);
      agent.gates.open("on");
      const asked = taskOf(await send("ask"));
      const task = taskOf(
        await send("this", by === "taskId" ? { taskId: asked.id } : { contextId: asked.contextId }),
      );
      expect(task.id).toBe(asked.id);
      expect(stateName(task)).toBe("COMPLETED");
      expect(textsOf(task.history)).toEqual(["ask", "which?", "this"]);
    }
  });

  it("refuse another context, an unknown task, an ended task and a busy one", async () => {
    const { send, agent } = createTestEngine(scripts);
    const asked = taskOf(await send("ask"));
    expect(await reasonOf(send("this", { taskId: asked.id, contextId: "other" }))).toBe("INVALID_ARGUMENT");
    expect(await reasonOf(send("this", { taskId: "nope" }))).toBe("TASK_NOT_FOUND");
    const running = taskOf(await send("this", { taskId: asked.id }, { returnImmediately: true }));
    expect(stateName(running)).toBe("WORKING");
    await expect(send("this", { taskId: asked.id })).rejects.toThrow("Task is already working.");
    agent.gates.open("on");
    await agent.idle();
  });

  it("sent twice at once start one run only", async () => {
    const { send, agent } = createTestEngine(scripts);
    const asked = taskOf(await send("ask"));
    const both = [send("this", { taskId: asked.id }), send("this", { taskId: asked.id })];
    const settled = Promise.allSettled(both);
    agent.gates.open("on");
    expect((await settled).map((each) => each.status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(agent.record.turns).toHaveLength(2);
  });

  it("wait in line where the policy says so", async () => {
    const { send, agent } = createTestEngine(
      { ask: [{ gate: "on" }, { done: "INPUT_REQUIRED" }], next: [{ done: "COMPLETED" }] },
      { policy: { busy: "queue" } },
    );
    const first = taskOf(await send("ask", {}, { returnImmediately: true }));
    const second = send("next", { taskId: first.id });
    agent.gates.open("on");
    expect(stateName(taskOf(await second))).toBe("COMPLETED");
  });

  it("reach a run that waits for authorisation through its inbox", async () => {
    const { send } = createTestEngine({
      go: [{ status: "AUTH_REQUIRED", parts: "log in" }, { inbox: true }, { done: "COMPLETED" }],
    });
    const waiting = taskOf(await send("go"));
    const done = taskOf(await send("token", { taskId: waiting.id }));
    expect(stateName(done)).toBe("COMPLETED");
    expect(textsOf(done.history)).toContain("token");
  });
});

describe("one task at a time in a context (S0-17)", () => {
  it("refuses the second, also when both come at once", async () => {
    const { send, agent } = createTestEngine(
      { go: [{ gate: "on" }, { done: "COMPLETED" }] },
      { policy: { concurrency: "one" } },
    );
    const both = Promise.allSettled([send("go", { contextId: "c" }), send("go", { contextId: "c" })]);
    const other = send("go", { contextId: "d" });
    agent.gates.open("on");
    expect((await both).map((each) => each.status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(stateName(taskOf(await other))).toBe("COMPLETED");
  });
});

describe("a repeated messageId (S2-04)", () => {
  it("joins the run, finds the ended task, and does not run again", async () => {
    const { send, agent } = createTestEngine({ go: [{ gate: "on" }, { done: "COMPLETED" }] });
    const first = send("go", { messageId: "same" });
    const second = send("go", { messageId: "same" });
    agent.gates.open("on");
    const ids = new Set((await Promise.all([first, second])).map((each) => taskOf(each).id));
    ids.add(taskOf(await send("go", { messageId: "same" })).id);
    expect(ids.size).toBe(1);
    expect(agent.record.turns).toHaveLength(1);
  });

  it("finds a message answer again", async () => {
    const { send, agent } = createTestEngine({ go: [{ message: "hi" }] });
    const [a, b] = [await send("go", { messageId: "same" }), await send("go", { messageId: "same" })];
    expect((b.payload.value as Message).messageId).toBe((a.payload.value as Message).messageId);
    expect(agent.record.turns).toHaveLength(1);
  });

  it("with other content is refused to a known caller and a new message from an anonymous one", async () => {
    const scripts = { one: [{ done: "COMPLETED" }], two: [{ done: "COMPLETED" }] } as const;
    const known = createTestEngine(scripts);
    await known.send("one", { messageId: "same" });
    expect(await reasonOf(known.send("two", { messageId: "same" }))).toBe("INVALID_ARGUMENT");
    const anonymous = createTestEngine(scripts, { owner: "" });
    const a = taskOf(await anonymous.send("one", { messageId: "same" }));
    const b = taskOf(await anonymous.send("two", { messageId: "same" }));
    expect(b.id).not.toBe(a.id);
  });

  it("is a new message where idempotency is off", async () => {
    const { send } = createTestEngine({ go: [{ done: "COMPLETED" }] }, { policy: { idempotency: false } });
    const a = taskOf(await send("go", { messageId: "same" }));
    const b = taskOf(await send("go", { messageId: "same" }));
    expect(b.id).not.toBe(a.id);
  });
});

describe("cancel (S0-14)", () => {
  it("stops the agent; twice gives the same task; an ended one is refused", async () => {
    const { send, call, agent } = createTestEngine({
      go: [{ status: "WORKING" }, { gate: "never" }, { done: "COMPLETED" }],
      quick: [{ done: "COMPLETED" }],
    });
    const { id } = taskOf(await send("go", {}, { returnImmediately: true }));
    const replies = await Promise.all([call("cancelTask", { id }), call("cancelTask", { id })]);
    for (const reply of replies) {
      expect(reply.kind === "unary" && stateName(reply.message as Task)).toBe("CANCELED");
    }
    expect(agent.record.aborted).toBe(1);
    const done = taskOf(await send("quick"));
    expect(await reasonOf(call("cancelTask", { id: done.id }))).toBe("TASK_NOT_CANCELABLE");
    expect(await reasonOf(call("cancelTask", { id: "nope" }))).toBe("TASK_NOT_FOUND");
  });

  it("wins over an agent that does not listen, whose later output is dropped", async () => {
    const { send, call, agent } = createTestEngine(
      { go: [{ deaf: true }, { gate: "on" }, { artifact: "late", parts: "x" }, { done: "COMPLETED" }] },
      { cancelGraceMs: 5 },
    );
    const { id } = taskOf(await send("go", {}, { returnImmediately: true }));
    await call("cancelTask", { id });
    agent.gates.open("on");
    await agent.idle();
    const reply = await call("getTask", { id });
    const task = reply.kind === "unary" ? (reply.message as Task) : undefined;
    expect(task && stateName(task)).toBe("CANCELED");
    expect(task?.artifacts).toEqual([]);
  });

  it("ends a task that waits for input", async () => {
    const { send, call } = createTestEngine({ ask: [{ done: "INPUT_REQUIRED" }] });
    const { id } = taskOf(await send("ask"));
    const reply = await call("cancelTask", { id });
    expect(reply.kind === "unary" && stateName(reply.message as Task)).toBe("CANCELED");
  });
});

describe("streams (S2-05)", () => {
  it("begin with the task and end with the run", async () => {
    const { stream } = createTestEngine({
      go: [{ status: "WORKING" }, { artifact: "a", parts: "x" }, { done: "COMPLETED" }],
      ask: [
        { status: "AUTH_REQUIRED", parts: "log in" },
        { status: "WORKING" },
        { done: "AUTH_REQUIRED", parts: "no" },
      ],
      say: [{ message: "hi" }],
    });
    const events = await readAll(await stream("go"));
    expect(events.map(summary)).toEqual([
      "task SUBMITTED",
      "status WORKING",
      "artifact a",
      "status COMPLETED",
    ]);
    expect(events.map((event) => event.number)).toEqual([1, 2, 3, 4]);
    const asked = await readAll(await stream("ask"));
    expect(asked.map(summary)).toEqual([
      "task SUBMITTED",
      "status AUTH_REQUIRED",
      "status WORKING",
      "status AUTH_REQUIRED",
    ]);
    expect((await readAll(await stream("say"))).map(summary)).toEqual(["message"]);
  });

  it("subscribed to while a task runs: the task, then the rest, for every reader alike", async () => {
    const { send, call, agent, engine } = createTestEngine({
      go: [{ status: "WORKING" }, { gate: "on" }, { chunks: 500, of: "a" }, { done: "COMPLETED" }],
    });
    const { id } = taskOf(await send("go", {}, { returnImmediately: true }));
    const readers = await Promise.all(
      [1, 2, 3].map(async () => iteratorOf(await call("subscribeToTask", { id }))),
    );
    const all = Promise.all(readers.map(readAll));
    agent.gates.open("on");
    const [first = [], ...others] = await all;
    expect(first).toHaveLength(502);
    expect(first.at(-1) && summary(first.at(-1) as never)).toBe("status COMPLETED");
    for (const other of others)
      expect(other.slice(1).map((e) => e.number)).toEqual(first.slice(1).map((e) => e.number));
    expect(engine.log.readerCount()).toBe(0);
  });

  it("are taken up again without gap or repeat, also after the end", async () => {
    const { stream, call } = createTestEngine({
      go: [{ status: "WORKING" }, { chunks: 5, of: "a" }, { done: "COMPLETED" }],
    });
    const events = await readAll(await stream("go"));
    const task = events[0]?.response.payload.value as Task;
    const resume = (id: string) => ({
      parameters: (name: string) =>
        name === "a2a-version" ? "1.0" : name === "last-event-id" ? id : undefined,
    });
    const rest = await readAll(
      iteratorOf(await call("subscribeToTask", { id: task.id }, resume(`${task.id}:3`))),
    );
    expect(rest.map((event) => event.number)).toEqual([4, 5, 6, 7, 8]);
    for (const id of [`${task.id}:8`, `${task.id}:9`, "other:3", `${task.id}:0`, "junk"]) {
      expect(await reasonOf(call("subscribeToTask", { id: task.id }, resume(id)))).toBe(
        "UNSUPPORTED_OPERATION",
      );
    }
  });

  it("leave nothing behind when their reader goes away, and the run goes on (S1-01)", async () => {
    const { call, agent, engine, stream } = createTestEngine({
      go: [{ status: "WORKING" }, { gate: "on" }, { done: "COMPLETED" }],
    });
    const controller = new AbortController();
    const reader = await stream("go", {}, { signal: controller.signal });
    const first = await reader.next();
    await reader.next();
    const waiting = reader.next();
    controller.abort();
    expect(await reasonOf(waiting)).toBe("CANCELLED");
    expect(engine.log.readerCount()).toBe(0);
    agent.gates.open("on");
    await agent.idle();
    const { id } = (first.value as WireEvent).response.payload.value as Task;
    await Promise.all(engine.runs.list().map((run) => run.ended));
    const reply = await call("getTask", { id });
    expect(reply.kind === "unary" && stateName(reply.message as Task)).toBe("COMPLETED");
  });
});

describe("a store that fails", () => {
  it("ends a blocking send with INTERNAL in bounded time", async () => {
    const store = createMemoryStore();
    let commits = 0;
    let agent: ScriptedAgent | undefined;
    const failing: FullTaskStore = {
      ...store,
      async commit(...args) {
        commits += 1;
        if (commits > 1) throw new Error("disk full");
        const result = await store.commit(...args);
        agent?.gates.open("on");
        return result;
      },
    };
    const engine = createTestEngine({ go: [{ gate: "on" }, { done: "COMPLETED" }] }, { store: failing });
    agent = engine.agent;
    expect(await reasonOf(engine.send("go"))).toBe("INTERNAL");
  });
});

describe("restart", () => {
  it("fails what was working and leaves what waits (S2-10)", async () => {
    const store = createMemoryStore();
    const before = createTestEngine({ go: [{ gate: "on" }], ask: [{ done: "INPUT_REQUIRED" }] }, { store });
    const working = taskOf(await before.send("go", {}, { returnImmediately: true }));
    const asking = taskOf(await before.send("ask"));
    const after = createTestEngine({}, { store });
    await after.engine.recover();
    const stateAfter = async ({ id }: Task) =>
      stateName((await store.get({ tenant: "", owner: "alice" }, id))?.task as Task);
    expect([await stateAfter(working), await stateAfter(asking)]).toEqual(["FAILED", "INPUT_REQUIRED"]);
  });
});
