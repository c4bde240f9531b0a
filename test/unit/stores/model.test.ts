import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/protocol/entry.js";
import { WireEvent } from "../../../src/protocol/event.js";
import { MessageSchema, type StreamResponse, type Task, TaskState } from "../../../src/protocol/schema.js";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore, ListCursor, Scope, UnfinishedTask } from "../../../src/stores/task-store.js";
import { chunk, opening, replacement, status, text, userMessage } from "../../support/log.js";
import { createTempDir } from "../../support/temp-dir.js";
import { createModel, foldPlainly, sameRecord, sameTask } from "./model.js";

const SCOPES: readonly Scope[] = [
  { tenant: "", owner: "" },
  { tenant: "", owner: "a" },
  { tenant: "a", owner: "" },
];
const STATES = [1, 2, 3, 6] as const satisfies readonly TaskState[];

const scopes = fc.constantFrom(...SCOPES);
const ids = fc.constantFrom("a", "b", "c", "d:1");
const contexts = fc.constantFrom("c1", "c2");
const states = fc.constantFrom<TaskState>(...STATES);
const times = fc.integer({ min: 0, max: 6 });
const keys = fc.constantFrom("m1", "m2", "m3", "m4", "m5").map((messageId) => ({ messageId, digest: "d" }));
const said = fc.option(fc.string({ maxLength: 4 }), { nil: undefined });
const artifacts = fc.record({
  artifactId: fc.constantFrom("x", "y"),
  parts: fc.array(fc.string({ maxLength: 3 }).map(text), { maxLength: 2 }),
  metadata: fc.dictionary(fc.constantFrom("k", "l"), fc.integer()),
});

const events: fc.Arbitrary<StreamResponse> = fc.oneof(
  fc.tuple(states, times, said).map(([state, ms, message]) => status(state, ms, message)),
  artifacts.map(chunk),
  artifacts.map(replacement),
  fc.string({ maxLength: 4 }).map(userMessage),
);
const plans = fc.record({
  scope: scopes,
  id: ids,
  contextId: contexts,
  statusMs: times,
  events: fc.array(events, { minLength: 1, maxLength: 4 }),
  /** How far the writer is off from the end of the log. */
  off: fc.constantFrom(0, 0, 0, 0, 0, 0, -1, 100),
  snapshot: fc.boolean(),
  key: fc.option(keys, { nil: undefined }),
});
type Plan = typeof plans extends fc.Arbitrary<infer Each> ? Each : never;

type Model = ReturnType<typeof createModel>;
interface Real {
  store: FullTaskStore;
  nowMs: number;
  readonly reopen: (store: FullTaskStore) => Promise<FullTaskStore>;
}
type Command = fc.AsyncCommand<Model, Real>;

function command<Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (args: Args, model: Model, real: Real) => Promise<void>,
): fc.Arbitrary<Command> {
  return args.map((each) => ({
    check: () => true,
    run: (model, real) => run(each, model, real),
    toString: () => `${name}(${fc.stringify(each)})`,
  }));
}

/** What a writer would commit that knows the log as the model has it. */
function toWrite(plan: Plan, log: readonly StreamResponse[]) {
  const expectedSeq = Math.max(log.length + plan.off, 0);
  const { id, contextId, statusMs } = plan;
  const responses = expectedSeq === 0 ? [opening({ id, contextId }, statusMs), ...plan.events] : plan.events;
  let number = log.filter(({ payload }) => payload.case !== "message").length;
  const entries = responses.map((response, index): Entry => {
    const onWire = response.payload.case !== "message";
    if (onWire) number += 1;
    return { seq: expectedSeq + index + 1, event: WireEvent.of(response, onWire ? number : 0) };
  });
  const task = foldPlainly([...(expectedSeq === 0 ? [] : log), ...responses]);
  const kept = plan.snapshot ? { snapshot: task } : {};
  return {
    responses,
    write: { expectedSeq, entries, contextId: task.contextId, status: task.status, ...kept },
  };
}

const commit = command(
  "commit",
  fc.array(plans, { minLength: 1, maxLength: 4 }),
  async (all, model, real) => {
    real.nowMs += 1;
    const writes = all.map((plan) => ({ plan, ...toWrite(plan, model.log(plan.scope, plan.id)) }));
    const results = await Promise.all(
      writes.map(({ plan: { scope, id, key }, write }) =>
        real.store.commit(scope, id, { kind: "task", ...write, ...(key && { messageKey: key }) }),
      ),
    );
    const expected = writes.map(({ plan: { scope, id, key }, responses, write }) =>
      model.append({ scope, id, seq: write.expectedSeq, key, nowMs: real.nowMs }, responses),
    );
    expect(results).toEqual(expected);
    for (const { scope, id } of all) await expectSameTask(scope, id, model, real.store);
  },
);

async function expectSameTask(scope: Scope, id: string, model: Model, store: FullTaskStore): Promise<void> {
  const log = model.log(scope, id);
  const snapshot = await store.get(scope, id);
  const entries = await store.entries(scope, id, 0, 1_000);
  expect(entries.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  if (log.length === 0) return expect(snapshot).toBeUndefined();
  expect(snapshot?.seq).toBe(log.length);
  expect(snapshot?.number).toBe(log.filter(({ payload }) => payload.case !== "message").length);
  expectSameTasks(snapshot && [snapshot.task], [foldPlainly(log)]);
}

function expectSameTasks(actual: readonly Task[] | undefined, expected: readonly Task[]): void {
  expect(actual?.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
  actual?.forEach((task, index) => {
    expect(sameTask(task, expected[index]), `task ${task.id}`).toBe(true);
  });
}

const answers = fc.record({ scope: scopes, key: keys, said: fc.string({ maxLength: 4 }) });
const answer = command("answer", answers, async ({ scope, key, said }, model, real) => {
  real.nowMs += 1;
  const message = create(MessageSchema, { messageId: said });
  const write = { kind: "answer", messageKey: key, answer: message } as const;
  const result = await real.store.commit(scope, "unused", write);
  expect(result).toEqual(model.answer(scope, key, message, real.nowMs));
});

const filters = fc.record(
  { contextId: contexts, state: states, statusAfterMs: times, artifacts: fc.boolean() },
  { requiredKeys: ["artifacts"] },
);
const lists = fc.record({ scope: scopes, filter: filters, pageSize: fc.integer({ min: 1, max: 3 }) });
const list = command("list", lists, async ({ scope, filter, pageSize }, model, { store }) => {
  const expected = model.list(scope, filter);
  const seen: Task[] = [];
  let after: ListCursor | undefined;
  do {
    const page = await store.list(scope, { ...filter, pageSize, ...(after && { after }) });
    expect(page.total).toBe(expected.length);
    seen.push(...page.tasks);
    after = page.next;
  } while (after);
  expectSameTasks(seen, expected);
});

const look = command(
  "look",
  fc.record({ scope: scopes, contextId: contexts }),
  async (at, model, { store }) => {
    const { scope, contextId } = at;
    for (const messageId of ["m1", "m2", "m3", "m4", "m5"]) {
      const record = await store.byMessage(scope, messageId);
      expect(sameRecord(record, model.byMessage(scope, messageId)), messageId).toBe(true);
    }
    const waiting = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];
    const running = [TaskState.SUBMITTED, TaskState.WORKING];
    expect(await store.waiting(scope, contextId, 9)).toEqual(model.inStates(scope, contextId, waiting));
    expect(await store.running(scope, contextId, 9)).toEqual(model.inStates(scope, contextId, running));
    expect(await store.countByState()).toEqual(model.countByState());
    expect(new Set(await allUnfinished(store))).toEqual(
      new Set(model.unfinished().map((each) => JSON.stringify(each))),
    );
  },
);

async function allUnfinished(store: FullTaskStore): Promise<readonly string[]> {
  const seen: UnfinishedTask[] = [];
  for (let some = await store.unfinished(undefined, 2); some.length > 0; ) {
    seen.push(...some);
    some = await store.unfinished(some.at(-1), 2);
  }
  return seen.map((each) => JSON.stringify(each));
}

const rules = fc.record(
  {
    tenant: fc.constantFrom("", "a"),
    exceptTenants: fc.subarray(["", "a"]),
    states: fc.subarray<TaskState>([...STATES]),
    beforeMs: times,
  },
  { requiredKeys: ["states", "beforeMs"] },
);
const expire = command("expire", rules, async (rule, model, { store }) => {
  expect(await store.expire({ ...rule, limit: 1_000 })).toBe(model.expire(rule));
});

const expireKeys = command(
  "expireKeys",
  fc.integer({ min: 0, max: 30 }),
  async (beforeMs, model, { store }) => {
    expect(await store.expireKeys(beforeMs, 1_000)).toBe(model.expireKeys(beforeMs));
  },
);

const reopen = command("reopen", fc.constant(undefined), async (_, __, real) => {
  real.store = await real.reopen(real.store);
});

const COMMANDS = [commit, commit, commit, commit, list, list, look, answer, expire, expireKeys, reopen];

function itBehavesLikeTheModel(open: (now: () => number) => Pick<Real, "store" | "reopen">): void {
  it("behaves like the model under any sequence of operations", async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 40 }), async (commands) => {
        const real: Real = { nowMs: 0, ...open(() => real.nowMs) };
        try {
          await fc.asyncModelRun(() => ({ model: createModel(), real }), commands);
        } finally {
          await real.store.close();
        }
      }),
      { interruptAfterTimeLimit: 3_000, numRuns: 200 },
    );
  });
}

describe("memory", () => {
  itBehavesLikeTheModel((now) => ({ store: createMemoryStore({ now }), reopen: async (store) => store }));
});

describe("sqlite", () => {
  const dir = createTempDir();
  let count = 0;
  itBehavesLikeTheModel((now) => {
    const path = join(dir, `${count++}.db`);
    const open = () => createSqliteStore({ path, now });
    return {
      store: open(),
      async reopen(store) {
        await store.close();
        return open();
      },
    };
  });
});
