import assert from "node:assert/strict";
import { describe, expect, it } from "vitest";
import type { Agent, Answer, Outcome, Progress } from "../../../src/agents/agent.js";
import { data, text } from "../../../src/agents/content.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { artifact } from "../../../src/agents/progress.js";
import { type Task, TaskState } from "../../../src/protocol/schema.js";
import { canTransition } from "../../../src/protocol/task.js";
import { createTestEngine, readAll, summary, type TestEngine } from "../../support/engine.js";
import { messageOf, reasonOf, stateName, taskOf, textsOf } from "../../support/outcomes.js";

const ALICE = { tenant: "", owner: "alice" };
const { SUBMITTED, WORKING, INPUT_REQUIRED, AUTH_REQUIRED, COMPLETED, FAILED, CANCELED, REJECTED } =
  TaskState;
const STATES = [SUBMITTED, WORKING, INPUT_REQUIRED, AUTH_REQUIRED, COMPLETED, FAILED, CANCELED, REJECTED];
const PROGRESS = [WORKING, AUTH_REQUIRED];
const OUTCOMES = [INPUT_REQUIRED, AUTH_REQUIRED, COMPLETED, FAILED, CANCELED, REJECTED];
const named = (states: readonly TaskState[]) => states.map((state) => TaskState[state] ?? "?");

async function* steps(progress: readonly unknown[], outcome: unknown): AsyncGenerator<Progress, Outcome> {
  yield* progress as Progress[];
  return outcome as Outcome;
}

const task = (progress: readonly unknown[], outcome: unknown): Answer => ({
  kind: "task",
  work: steps(progress, outcome),
});
const report = (state: unknown) => ({ kind: "status", state, parts: [text("so it is")] });
const done = (state: unknown) => ({ state });

/** An agent whose answers are made one after the other. */
function agentOf(...answers: readonly (() => Answer)[]): Agent {
  let turns = 0;
  return {
    card: createEchoAgent().card,
    answer: async () => (answers[turns++] as () => Answer)(),
  };
}

async function ended({ engine }: TestEngine): Promise<void> {
  await Promise.all(engine.runs.list().map((run) => run.ended));
}

/** The states that a task went through, after checking that its log is one that may be. */
async function statesOf({ store }: TestEngine, id: string): Promise<readonly string[]> {
  const entries = await store.entries(ALICE, id, 0, 1_000);
  const states = entries.flatMap(({ event: { response } }): TaskState[] => {
    const { payload } = response;
    if (payload.case !== "task" && payload.case !== "statusUpdate") return [];
    return [payload.value.status?.state ?? TaskState.UNSPECIFIED];
  });
  for (const [index, state] of states.slice(1).entries()) {
    const before = states[index] ?? TaskState.UNSPECIFIED;
    expect(canTransition(before, state), `${TaskState[before]} to ${TaskState[state]}`).toBe(true);
  }
  return named(states);
}

/** Runs one turn and returns the states of its task. */
async function tryOut(answer: () => Answer) {
  const engine = createTestEngine({}, { agent: agentOf(answer) });
  const { id } = taskOf(await engine.send("go", {}, { returnImmediately: true }));
  await ended(engine);
  const stored = (await engine.store.get(ALICE, id))?.task as Task;
  return { states: await statesOf(engine, id), stored, faults: engine.faults };
}

describe("all pairs of states, tried by an agent within a turn (S0-19, S2-02, S2-12)", () => {
  const starts = [SUBMITTED, WORKING, AUTH_REQUIRED];
  const pairs = starts.flatMap((from) =>
    STATES.map((to) => [TaskState[from], TaskState[to], from, to] as const),
  );

  it.each(pairs)("%s to %s", async (_, __, from, to) => {
    const lead = from === SUBMITTED ? [] : [report(from)];
    const before = named([SUBMITTED, ...(from === SUBMITTED ? [] : [from])]);

    const asProgress = await tryOut(() => task([...lead, report(to)], done(COMPLETED)));
    const allowed = PROGRESS.includes(to);
    expect(asProgress.states).toEqual([...before, ...named(allowed ? [to, COMPLETED] : [FAILED])]);
    expect(asProgress.faults).toHaveLength(allowed ? 0 : 1);

    const asOutcome = await tryOut(() => task(lead, done(to)));
    const isEnd = OUTCOMES.includes(to);
    expect(asOutcome.states).toEqual([...before, ...named([isEnd ? to : FAILED])]);
    expect(asOutcome.faults).toHaveLength(isEnd ? 0 : 1);
  });

  it.each(STATES.filter((state) => OUTCOMES.includes(state)).map((from) => [TaskState[from], from] as const))(
    "from %s, where a turn has ended, only a user's message goes on, and only when the task waits",
    async (_, from) => {
      for (const to of OUTCOMES) {
        const engine = createTestEngine(
          {},
          {
            agent: agentOf(
              () => task([], done(from)),
              () => task([], done(to)),
            ),
          },
        );
        const { id } = taskOf(await engine.send("go"));
        const waits = from === INPUT_REQUIRED || from === AUTH_REQUIRED;
        const reason = await reasonOf(engine.send("more", { taskId: id }));
        expect(reason).toBe(waits ? "no error" : "UNSUPPORTED_OPERATION");
        await ended(engine);
        expect(await statesOf(engine, id)).toEqual(
          named(waits ? [SUBMITTED, from, WORKING, to] : [SUBMITTED, from]),
        );
      }
    },
  );

  it.each([0, 9, 99, -1, 2.5, Number.NaN, "WORKING", undefined, null])(
    "to %j, which is no state",
    async (state) => {
      expect((await tryOut(() => task([report(state)], done(COMPLETED)))).states).toEqual([
        "SUBMITTED",
        "FAILED",
      ]);
      expect((await tryOut(() => task([], done(state)))).states).toEqual(["SUBMITTED", "FAILED"]);
    },
  );
});

describe("AUTH_REQUIRED (S2-12)", () => {
  it("as progress releases a blocking send, keeps the streams open and takes messages into the run", async () => {
    const engine = createTestEngine({
      go: [
        { status: "AUTH_REQUIRED", parts: "log in" },
        { gate: "late" },
        { artifact: "a", parts: "meanwhile" },
        { inbox: true },
        { done: "COMPLETED" },
      ],
    });
    const events = await engine.stream("go", { messageId: "m" });
    const all = readAll(events);
    const blocked = taskOf(await engine.send("go", { messageId: "m" }));
    expect(stateName(blocked)).toBe("AUTH_REQUIRED");
    const token = engine.send("token", { taskId: blocked.id });
    engine.agent.gates.open("late");
    expect(stateName(taskOf(await token))).toBe("COMPLETED");
    expect((await all).map(summary)).toEqual([
      "task SUBMITTED",
      "status AUTH_REQUIRED",
      "artifact a",
      "status WORKING",
      "status COMPLETED",
    ]);
    expect(engine.agent.record.turns).toHaveLength(1);
  });

  it("as outcome ends the run and the stream, and the next message begins a turn", async () => {
    const engine = createTestEngine({
      go: [{ status: "WORKING" }, { done: "AUTH_REQUIRED", parts: "log in" }],
      token: [{ done: "COMPLETED" }],
    });
    const events = await readAll(await engine.stream("go"));
    expect(events.map(summary)).toEqual(["task SUBMITTED", "status WORKING", "status AUTH_REQUIRED"]);
    expect(engine.engine.runs.list()).toEqual([]);
    const [id = ""] = events[0]?.id?.split(":") ?? [];
    const completed = taskOf(await engine.send("token", { taskId: id }));
    expect(stateName(completed)).toBe("COMPLETED");
    expect(textsOf(completed.history)).toEqual(["go", "log in", "token"]);
    expect(engine.agent.record.turns).toHaveLength(2);
  });

  it("as progress without saying for what breaks the contract", async () => {
    const { states } = await tryOut(() => task([{ kind: "status", state: AUTH_REQUIRED }], done(COMPLETED)));
    expect(states).toEqual(["SUBMITTED", "FAILED"]);
  });
});

const circle: Record<string, unknown> = {};
circle.self = circle;
let nested: unknown = 1;
for (let depth = 0; depth < 5_000; depth += 1) nested = { nested };
const artifactOf = (content: string) =>
  (artifact(content) as Extract<Progress, { kind: "artifact" }>).artifact;
const part = (content: unknown, more: object = {}) => ({ ...text(""), content, ...more });
const pieces = (...parts: readonly unknown[]) => ({
  kind: "artifact",
  artifact: { ...artifactOf(""), parts },
});
const status = (metadata: unknown) => ({ ...report(WORKING), metadata });

describe("what an agent says that is malformed (S2-02)", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "done"],
    ["a number", 7],
    ["an unknown kind", { kind: "message", parts: [text("x")] }],
    ["an artifact event without an artifact", { kind: "artifact" }],
    ["an artifact that is a text", { kind: "artifact", artifact: "a" }],
    ["an artifact without parts", pieces()],
    ["parts that are no list", { kind: "artifact", artifact: { ...artifactOf(""), parts: "abc" } }],
    ["a part that is null", pieces(null)],
    ["a part that is a text", pieces("abc")],
    ["a part that holds nothing", pieces(part({ case: undefined }))],
    ["a part without content", pieces({})],
    ["a part of an unknown case", pieces(part({ case: "video", value: "x" }))],
    ["a text that is a number", pieces(part({ case: "text", value: 5 }))],
    ["a url that is missing", pieces(part({ case: "url", value: undefined }))],
    ["raw bytes that are a text", pieces(part({ case: "raw", value: "abc" }))],
    ["data that is no Value", pieces(part({ case: "data", value: { a: 1 } }))],
    ["a file name that is a number", pieces(part({ case: "text", value: "x" }, { filename: 3 }))],
    ["a media type that is a list", pieces(part({ case: "text", value: "x" }, { mediaType: ["a"] }))],
    [
      "an artifact id that is a number",
      { kind: "artifact", artifact: { ...artifactOf("x"), artifactId: 9 } },
    ],
    ["extensions that are a text", { kind: "artifact", artifact: { ...artifactOf("x"), extensions: "abc" } }],
    ["extensions that are numbers", { kind: "artifact", artifact: { ...artifactOf("x"), extensions: [7] } }],
    ["metadata that is a text", status("abc")],
    ["metadata that is a list", status([1])],
    ["metadata with a function", status({ f: () => 1 })],
    ["metadata with NaN", status({ n: Number.NaN })],
    ["metadata with a bigint", status({ n: 1n })],
    ["metadata with a date", status({ at: new Date(0) })],
    ["metadata with a map", status({ all: new Map() })],
    ["metadata that contains itself", status(circle)],
    ["metadata that is nested too deep", status({ nested })],
  ])("%s: the task fails, the log stays valid, the cause is logged", async (_, malformed) => {
    const { states, stored, faults } = await tryOut(() =>
      task([report(WORKING), malformed], done(COMPLETED)),
    );
    expect(states).toEqual(["SUBMITTED", "WORKING", "FAILED"]);
    expect(faults).toHaveLength(1);
    expect(stored.artifacts).toEqual([]);
    expect(textsOf(stored.status?.message ? [stored.status.message] : [])[0]).toMatch(/^The agent /);
  });

  it.each<[string, unknown]>([
    ["parts that hold nothing", { state: COMPLETED, parts: [part({ case: undefined })] }],
    ["metadata that is no object", { state: COMPLETED, metadata: 7 }],
    ["no object at all", "COMPLETED"],
  ])("an outcome with %s fails the task", async (_, outcome) => {
    expect((await tryOut(() => task([], outcome))).states).toEqual(["SUBMITTED", "FAILED"]);
  });

  it.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["a text", () => "hello"],
    ["an unknown kind", () => ({ kind: "stream" })],
    ["a message without parts", () => ({ kind: "message", parts: [] })],
    ["a message with a part that holds nothing", () => ({ kind: "message", parts: [{}] })],
    [
      "a message with metadata that is no object",
      () => ({ kind: "message", parts: [text("x")], metadata: "x" }),
    ],
    ["a task with metadata that is no object", () => ({ ...task([], done(COMPLETED)), metadata: "x" })],
  ])("an answer that is %s is InvalidAgentResponse, and there is no task", async (_, answer) => {
    const engine = createTestEngine({}, { agent: agentOf(answer as () => Answer) });
    expect(await reasonOf(engine.send("go"))).toBe("INVALID_AGENT_RESPONSE");
    expect((await engine.store.list(ALICE, { pageSize: 10, artifacts: false })).total).toBe(0);
    expect(engine.engine.runs.list()).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["no generator", {}],
    ["nothing to work on", undefined],
    ["steps that are none", { next: async () => undefined }],
    [
      "a next that throws",
      {
        next: () => {
          throw new Error("secret");
        },
      },
    ],
    [
      "a next that throws what nobody may look at",
      {
        next: () => {
          throw new Proxy({}, { getPrototypeOf: () => assert.fail("secret") });
        },
      },
    ],
    [
      "a return that throws",
      {
        next: async () => ({ done: true, value: done(9) }),
        return: () => {
          throw new Error("no");
        },
      },
    ],
  ])("work that is %s fails the task", async (_, work) => {
    const { states, stored } = await tryOut(() => ({ kind: "task", work }) as Answer);
    expect(states).toEqual(["SUBMITTED", "FAILED"]);
    expect(JSON.stringify(textsOf(stored.status?.message ? [stored.status.message] : []))).not.toContain(
      "secret",
    );
  });

  it("JSON may be nested as deep as a caller's, and undefined properties are left out as in JSON", async () => {
    let deep: unknown = "bottom";
    for (let depth = 0; depth < 90; depth += 1) deep = [deep];
    const metadata = { deep, left: undefined, ["__proto__"]: "a key like any other" };
    const { states, stored } = await tryOut(() =>
      task([{ ...artifact(data(deep as never), { id: "a" }), metadata }], done(COMPLETED)),
    );
    expect(states).toEqual(["SUBMITTED", "COMPLETED"]);
    expect(stored.artifacts).toHaveLength(1);
  });
});

it("a late agent is not heard: CANCELED stays what it is, whatever is reported", async () => {
  for (const late of [report(WORKING), report(AUTH_REQUIRED), artifact("late"), { nonsense: true }]) {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* deaf(): AsyncGenerator<Progress, Outcome> {
      await gate;
      yield late as Progress;
      return { state: COMPLETED };
    }
    const engine = createTestEngine(
      {},
      { agent: agentOf(() => ({ kind: "task", work: deaf() })), cancelGraceMs: 5 },
    );
    const { id } = taskOf(await engine.send("go", {}, { returnImmediately: true }));
    expect(stateName(messageOf<Task>(await engine.call("cancelTask", { id })))).toBe("CANCELED");
    release();
    for (let tick = 0; tick < 5; tick += 1) await new Promise(setImmediate);
    expect(await statesOf(engine, id)).toEqual(["SUBMITTED", "CANCELED"]);
    expect(await reasonOf(engine.send("more", { taskId: id }))).toBe("UNSUPPORTED_OPERATION");
  }
});
