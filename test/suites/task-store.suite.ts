import { create, equals } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DEEPEST } from "../../src/protocol/depth.js";
import {
  MessageSchema,
  type Task,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
} from "../../src/protocol/schema.js";
import type { FullTaskStore, ListQuery, Scope } from "../../src/stores/task-store.js";
import { dataPart, nestedList, nestedObject } from "../support/deep.js";
import { chunk, createLogWriter, opening, status, text, userMessage } from "../support/log.js";

const { SUBMITTED, WORKING, COMPLETED, FAILED, INPUT_REQUIRED, AUTH_REQUIRED } = TaskState;

/** How a suite gets a store. `now` is the store's clock. */
export type OpenStore = (now: () => number) => Promise<FullTaskStore>;

const scope: Scope = { tenant: "t", owner: "o" };
/** Scopes that must not see what is in `scope`; the last two would if a key were made by joining texts. */
const OTHERS: readonly Scope[] = [
  { tenant: "t", owner: "" },
  { tenant: "", owner: "o" },
  { tenant: "T", owner: "o" },
  { tenant: "to", owner: "" },
  { tenant: "", owner: "to" },
];

const committed = { kind: "committed" };
const lostSeq = { kind: "conflict", on: "seq" };
const lostMessage = { kind: "conflict", on: "message" };

const everything: ListQuery = { pageSize: 100, artifacts: true };

function expectTask(actual: Task | undefined, expected: Task): void {
  expect(actual && equals(TaskSchema, actual, expected), "same task").toBe(true);
}

/** What every task store must do, wherever it keeps tasks. */
export function taskStoreSuite(name: string, open: OpenStore): void {
  describe(`task store: ${name}`, () => {
    let store: FullTaskStore;
    let nowMs: number;

    beforeEach(async () => {
      nowMs = 1_000;
      store = await open(() => nowMs);
    });
    afterEach(() => store.close());

    /** Commits a task in one go, at its last status. */
    async function put(
      id: string,
      { state = SUBMITTED, statusMs = 0, contextId = "c", to = scope, messageId = "" } = {},
    ): Promise<Task> {
      const log = createLogWriter();
      const responses = [opening({ id, contextId }, statusMs)];
      if (state !== SUBMITTED) responses.push(status(state, statusMs));
      const key = messageId ? { messageKey: { messageId, digest: `digest of ${messageId}` } } : {};
      expect(await store.commit(to, id, log.write(responses, key))).toEqual(committed);
      return log.task();
    }

    async function ids(query: Partial<ListQuery> = {}, from = scope): Promise<readonly string[]> {
      return (await store.list(from, { ...everything, ...query })).tasks.map((task) => task.id);
    }

    describe("commit and get", () => {
      it("gives back what was committed, with its place in the log", async () => {
        const log = createLogWriter();
        const first = opening({
          id: "a",
          contextId: "c",
          history: [{ messageId: "u1" }],
          metadata: { k: 1 },
        });
        expect(await store.commit(scope, "a", log.write([first]))).toEqual(committed);
        expect(await store.get(scope, "a")).toMatchObject({ seq: 1, number: 1 });
        expectTask((await store.get(scope, "a"))?.task, log.task());

        const more = [status(WORKING), chunk({ artifactId: "x", parts: [text("1")] }), userMessage("u2")];
        expect(await store.commit(scope, "a", log.write(more))).toEqual(committed);
        const snapshot = await store.get(scope, "a");
        expect(snapshot).toMatchObject({ seq: 4, number: 3 });
        expectTask(snapshot?.task, log.task());
      });

      it("knows nothing of a task that was never committed", async () => {
        expect(await store.get(scope, "a")).toBeUndefined();
        expect(await store.entries(scope, "a", 0, 10)).toEqual([]);
        expect(await store.list(scope, everything)).toEqual({ tasks: [], total: 0 });
      });

      it.each([
        ["nowhere", () => false],
        ["at every write", () => true],
        ["at every third write", (index: number) => index % 3 === 2],
        ["at the first write only", (index: number) => index === 0],
      ])("reads the same task with snapshots %s", async (_, snapshot) => {
        const log = createLogWriter();
        const steps = [
          [opening({ id: "a", contextId: "c", history: [{ messageId: "u1" }] })],
          [status(WORKING, 1, "on it"), chunk({ artifactId: "x", parts: [text("1")] })],
          [chunk({ artifactId: "x", parts: [text("2")], metadata: { m: 1 } })],
          [chunk({ artifactId: "y", parts: [text("3")] })],
          [status(INPUT_REQUIRED, 2, "which?")],
          [userMessage("u2")],
          [status(WORKING, 3), chunk({ artifactId: "y", parts: [text("4")] })],
          [status(COMPLETED, 4, "done")],
        ];
        for (const [index, step] of steps.entries()) {
          await store.commit(scope, "a", log.write(step, { snapshot: snapshot(index) }));
          const read = await store.get(scope, "a");
          expect(read).toMatchObject({ seq: log.seq, number: log.number });
          expectTask(read?.task, log.task());
          expectTask((await store.list(scope, everything)).tasks[0], log.task());
          const { tasks } = await store.list(scope, { ...everything, artifacts: false });
          expectTask(tasks[0], create(TaskSchema, { ...log.task(), artifacts: [] }));
        }
      });

      it("keeps any text and number as it is", async () => {
        const texts = ["nul \0 inside", "ä😀\u2028", "'; DROP TABLE tasks; --", "\u{10ffff}"];
        const numbers = { big: 2 ** 53 + 2, huge: 1e300, small: -0.1, whole: 7, none: null };
        const log = createLogWriter();
        const first = opening({
          id: "a",
          contextId: "c",
          history: texts.map((messageId) => ({ messageId, parts: [text(messageId)] })),
          metadata: { numbers, nested: { texts } },
        });
        const binary = Uint8Array.from({ length: 256 }, (_, index) => index);
        const raw = chunk({ artifactId: "nul\0", parts: [{ content: { case: "raw", value: binary } }] });
        await store.commit(scope, "a", log.write([first, raw], { snapshot: true }));
        expectTask((await store.get(scope, "a"))?.task, log.task());
        expect((await store.get(scope, "a"))?.task.metadata).toEqual({ numbers, nested: { texts } });
      });

      it.each([49, 100, DEEPEST])("reads back what is nested %i levels deep", async (levels) => {
        const log = createLogWriter();
        const data = dataPart(nestedList(levels));
        const first = opening({
          id: "a",
          contextId: "c",
          history: [{ messageId: "u1", parts: [data] }],
          metadata: { deep: nestedObject(levels) },
        });
        await store.commit(scope, "a", log.write([first]));
        expectTask((await store.get(scope, "a"))?.task, log.task());
        const rest = [chunk({ artifactId: "x", parts: [data] }), status(COMPLETED, 1)];
        await store.commit(scope, "a", log.write(rest, { snapshot: true }));
        expectTask((await store.get(scope, "a"))?.task, log.task());
        expectTask((await store.list(scope, everything)).tasks[0], log.task());
      });

      it.each(["a:b", "urn:x:1", "A", "a.b", "nul\0x", "__proto__", "x".repeat(128)])(
        "takes %j as an id of a task, a context and an owner",
        async (id) => {
          const to = { tenant: id, owner: id };
          await put("near", { to });
          const task = await put(id, { contextId: id, to, messageId: id });
          expectTask((await store.get(to, id))?.task, task);
          expect(await ids({ contextId: id }, to)).toEqual([id]);
          expect(await store.running(to, id, 10)).toEqual([id]);
          expect(await store.byMessage(to, id)).toMatchObject({ kind: "task", taskId: id });
          expect(await store.unfinished(undefined, 10)).toContainEqual({ scope: to, taskId: id });
        },
      );

      it("is not touched by what the writer does with its objects later", async () => {
        const log = createLogWriter();
        const start = opening({ id: "a", contextId: "c", history: [{ messageId: "u1" }] });
        const write = log.write([start, status(WORKING)], { snapshot: true });
        const snapshot = create(TaskSchema, log.task());
        const given = create(TaskStatusSchema, write.status);
        const before = structuredClone(snapshot);
        const result = store.commit(scope, "a", { ...write, status: given, snapshot });
        snapshot.id = "changed";
        snapshot.history.push(create(MessageSchema, { messageId: "sneaked in" }));
        given.state = FAILED;
        expect(await result).toEqual(committed);
        expectTask((await store.get(scope, "a"))?.task, before);
        expect(await store.unfinished(undefined, 10)).toEqual([{ scope, taskId: "a" }]);
      });

      it("lets a task that was read stand while the log goes on", async () => {
        const log = createLogWriter();
        await store.commit(
          scope,
          "a",
          log.write([opening({ id: "a", contextId: "c" }), status(WORKING, 1, "w")]),
        );
        const read = await store.get(scope, "a");
        const before = structuredClone(read);
        const more = [
          chunk({ artifactId: "x", parts: [text("1")] }),
          userMessage("u2"),
          status(COMPLETED, 2),
        ];
        await store.commit(scope, "a", log.write(more, { snapshot: true }));
        expect(read).toEqual(before);
      });

      it("is read again and again as it is, and no longer once it has gone", async () => {
        const log = createLogWriter();
        const seen = async () => (await store.get(scope, "a"))?.task;
        await store.commit(
          scope,
          "a",
          log.write([opening({ id: "a", contextId: "c" }), status(WORKING, 1)], { snapshot: true }),
        );
        expect([await seen(), await seen()]).toEqual([log.task(), log.task()]);
        await store.commit(scope, "a", log.write([chunk({ artifactId: "x", parts: [text("1")] })]));
        expect([await seen(), await seen()]).toEqual([log.task(), log.task()]);
        await store.commit(scope, "a", log.write([status(COMPLETED, 0)], { snapshot: true }));
        expect([await seen(), await seen()]).toEqual([log.task(), log.task()]);
        expect(await store.get({ ...scope, owner: "somebody" }, "a")).toBeUndefined();
        await store.expire({ states: [COMPLETED], beforeMs: 1, limit: 10 });
        expect(await seen()).toBeUndefined();
      });

      it("refuses writes that no correct writer makes, and keeps nothing of them", async () => {
        const log = createLogWriter();
        const write = log.write([opening({ id: "a", contextId: "c" }), status(WORKING)]);
        const [first, second] = write.entries as [(typeof write.entries)[0], (typeof write.entries)[0]];
        const internal = { reason: "INTERNAL" };
        await expect(store.commit(scope, "a", { ...write, entries: [] })).rejects.toMatchObject(internal);
        await expect(store.commit(scope, "a", { ...write, entries: [second] })).rejects.toMatchObject(
          internal,
        );
        const twice = { ...write, entries: [first, first] };
        await expect(store.commit(scope, "a", twice)).rejects.toMatchObject(internal);
        expect(await store.get(scope, "a")).toBeUndefined();
      });
    });

    describe("entries", () => {
      it("come in order, numbered as they were, from any place and at most so many", async () => {
        const log = createLogWriter();
        const responses = [
          opening({ id: "a", contextId: "c" }),
          status(INPUT_REQUIRED, 1),
          userMessage("u"),
          status(WORKING, 2),
        ];
        const write = log.write(responses, { snapshot: true });
        await store.commit(scope, "a", write);
        const all = await store.entries(scope, "a", 0, 100);
        expect(all.map(({ seq, event }) => [seq, event.number])).toEqual([
          [1, 1],
          [2, 2],
          [3, 0],
          [4, 3],
        ]);
        expect(all.map(({ event }) => [...event.binary])).toEqual(
          write.entries.map(({ event }) => [...event.binary]),
        );
        const seqs = async (after: number, limit: number) =>
          (await store.entries(scope, "a", after, limit)).map(({ seq }) => seq);
        expect(await seqs(0, 2)).toEqual([1, 2]);
        expect(await seqs(1, 2)).toEqual([2, 3]);
        expect(await seqs(3, 100)).toEqual([4]);
        expect(await seqs(4, 100)).toEqual([]);
        expect(await seqs(400, 100)).toEqual([]);
      });
    });

    describe("races", () => {
      const first = (id = "a") => createLogWriter().write([opening({ id, contextId: "c" })]);

      it("lets one of two creators in the same tick win", async () => {
        const results = await Promise.all([
          store.commit(scope, "a", first()),
          store.commit(scope, "a", first()),
        ]);
        expect(results).toEqual([committed, lostSeq]);
        expect(await store.get(scope, "a")).toMatchObject({ seq: 1 });
      });

      it("lets one of two writers of the same place win, and a third go on after the winner", async () => {
        await store.commit(scope, "a", first());
        const from = await store.get(scope, "a");
        const [one, two] = [createLogWriter(from), createLogWriter(from)];
        const results = await Promise.all([
          store.commit(scope, "a", one.write([status(WORKING, 1, "one")], { snapshot: true })),
          store.commit(scope, "a", two.write([status(FAILED, 2, "two")], { snapshot: true })),
          store.commit(scope, "a", one.write([status(COMPLETED, 3)])),
          store.commit(scope, "b", first("b")),
        ]);
        expect(results).toEqual([committed, lostSeq, committed, committed]);
        expectTask((await store.get(scope, "a"))?.task, one.task());
        expect((await store.list(scope, { ...everything, state: FAILED })).total).toBe(0);
      });

      it("refuses a writer that is behind, ahead, or of a task that is not there", async () => {
        await store.commit(scope, "a", first());
        expect(await store.commit(scope, "a", first())).toEqual(lostSeq);
        const ahead = createLogWriter();
        ahead.write([opening({ id: "a" }), status(WORKING)]);
        const write = ahead.write([status(COMPLETED)]);
        expect(await store.commit(scope, "a", write)).toEqual(lostSeq);
        expect(await store.commit(scope, "nowhere", write)).toEqual(lostSeq);
        expect(await store.get(scope, "a")).toMatchObject({ seq: 1 });
        expect(await store.get(scope, "nowhere")).toBeUndefined();
        expect((await store.list(scope, everything)).total).toBe(1);
      });

      it("settles commits in the order they were handed over, all of a task's or none", async () => {
        const order: number[] = [];
        const log = createLogWriter();
        const writes = Array.from({ length: 600 }, (_, index) =>
          index === 0
            ? log.write([opening({ id: "a", contextId: "c" })])
            : log.write([chunk({ artifactId: "x", parts: [text(`${index} `)] })]),
        );
        const results = await Promise.all(
          writes.map(async (write, index) => {
            const result = await store.commit(scope, "a", write);
            order.push(index);
            return result;
          }),
        );
        expect(results.every(({ kind }) => kind === "committed")).toBe(true);
        expect(order).toEqual(writes.map((_, index) => index));
        expectTask((await store.get(scope, "a"))?.task, log.task());
      });
    });

    describe("message keys (S2-04)", () => {
      const key = (messageId: string, digest = "d") => ({ messageKey: { messageId, digest } });
      const answer = (said: string) => create(MessageSchema, { messageId: said, parts: [text(said)] });

      it("finds a task by the message that made it and by those that followed", async () => {
        const log = createLogWriter();
        await store.commit(scope, "a", log.write([opening({ id: "a", contextId: "c" })], key("m1", "d1")));
        await store.commit(scope, "a", log.write([userMessage("m2")], key("m2", "d2")));
        expect(await store.byMessage(scope, "m1")).toEqual({ kind: "task", digest: "d1", taskId: "a" });
        expect(await store.byMessage(scope, "m2")).toEqual({ kind: "task", digest: "d2", taskId: "a" });
        expect(await store.byMessage(scope, "m3")).toBeUndefined();
      });

      it("finds an answer that made no task", async () => {
        const write = { kind: "answer", ...key("m1"), answer: answer("hello") } as const;
        expect(await store.commit(scope, "unused", write)).toEqual(committed);
        const record = await store.byMessage(scope, "m1");
        expect(record).toMatchObject({ kind: "answer", digest: "d" });
        expect(record?.kind === "answer" && equals(MessageSchema, record.answer, answer("hello"))).toBe(true);
        expect(await store.get(scope, "unused")).toBeUndefined();
        expect((await store.list(scope, everything)).total).toBe(0);
      });

      it("finds an answer that is nested deep", async () => {
        const deep = create(MessageSchema, { messageId: "deep", parts: [dataPart(nestedList(DEEPEST))] });
        await store.commit(scope, "unused", { kind: "answer", ...key("m1"), answer: deep });
        const record = await store.byMessage(scope, "m1");
        expect(record?.kind === "answer" && equals(MessageSchema, record.answer, deep)).toBe(true);
      });

      it("gives a key once, whatever the second write is, and keeps nothing of that write", async () => {
        const make = (id: string) => createLogWriter().write([opening({ id, contextId: "c" })], key("m1"));
        const results = await Promise.all([
          store.commit(scope, "a", make("a")),
          store.commit(scope, "b", make("b")),
          store.commit(scope, "c", { kind: "answer", ...key("m1", "other"), answer: answer("late") }),
        ]);
        expect(results).toEqual([committed, lostMessage, lostMessage]);
        expect(await ids()).toEqual(["a"]);
        expect(await store.byMessage(scope, "m1")).toEqual({ kind: "task", digest: "d", taskId: "a" });
        expect(await store.commit(scope, "b", make("b"))).toEqual(lostMessage);
      });

      it("names the message when a repeated follow-up loses both races", async () => {
        const log = createLogWriter();
        await store.commit(scope, "a", log.write([opening({ id: "a", contextId: "c" })]));
        const from = await store.get(scope, "a");
        const followUp = () => createLogWriter(from).write([userMessage("m2")], key("m2"));
        const results = await Promise.all([
          store.commit(scope, "a", followUp()),
          store.commit(scope, "a", followUp()),
        ]);
        expect(results).toEqual([committed, lostMessage]);
      });

      it("does not give a key to a write that lost its place", async () => {
        await put("a");
        const write = createLogWriter().write([opening({ id: "a", contextId: "c" })], key("m1"));
        expect(await store.commit(scope, "a", write)).toEqual(lostSeq);
        expect(await store.byMessage(scope, "m1")).toBeUndefined();
      });

      it("forgets old keys behind younger ones, as a clock leaves them that was put back", async () => {
        nowMs = 10_000;
        for (const messageId of ["m0", "m1", "m2"]) await put(messageId, { messageId });
        nowMs = 1_000;
        for (const messageId of ["m3", "m4"]) await put(messageId, { messageId });
        expect(await store.expireKeys(5_000, 2)).toBe(2);
        expect(await store.byMessage(scope, "m0")).toBeDefined();
        expect(await store.byMessage(scope, "m3")).toBeUndefined();
      });

      it("forgets keys by age, the oldest first and at most so many, and leaves their tasks", async () => {
        for (const [index, messageId] of ["m0", "m1", "m2", "m3"].entries()) {
          nowMs = 100 + index;
          await put(`t${index}`, { messageId });
        }
        nowMs = 200;
        await store.commit(scope, "unused", { kind: "answer", ...key("m4"), answer: answer("hi") });
        expect(await store.expireKeys(100, 10)).toBe(0);
        expect(await store.expireKeys(103, 2)).toBe(2);
        expect(await store.expireKeys(103, 2)).toBe(1);
        expect(await store.expireKeys(103, 2)).toBe(0);
        expect(await store.byMessage(scope, "m2")).toBeUndefined();
        expect(await store.byMessage(scope, "m3")).toBeDefined();
        expect(await store.expireKeys(1_000, 10)).toBe(2);
        expect(await store.byMessage(scope, "m4")).toBeUndefined();
        expect((await store.list(scope, everything)).total).toBe(4);
        await put("again", { messageId: "m0" });
        expect(await store.byMessage(scope, "m0")).toMatchObject({ taskId: "again" });
      });
    });

    describe("list", () => {
      it("orders by status time, then id, both descending (S0-11)", async () => {
        await put("b", { statusMs: 5 });
        await put("a", { statusMs: 5 });
        await put("c", { statusMs: 5 });
        await put("old", { statusMs: -1_000 });
        await put("new", { statusMs: 253_402_300_799_999 });
        expect(await ids()).toEqual(["new", "c", "b", "a", "old"]);
      });

      it("moves a task when its status changes, and not when it grows otherwise", async () => {
        const log = createLogWriter();
        await store.commit(scope, "a", log.write([opening({ id: "a", contextId: "c" }, 1)]));
        await put("b", { statusMs: 5 });
        expect(await ids()).toEqual(["b", "a"]);
        await store.commit(scope, "a", log.write([chunk({ artifactId: "x" })]));
        expect(await ids()).toEqual(["b", "a"]);
        await store.commit(scope, "a", log.write([status(WORKING, 9)]));
        expect(await ids()).toEqual(["a", "b"]);
        expect(await ids({ state: SUBMITTED })).toEqual(["b"]);
        expect(await ids({ state: WORKING })).toEqual(["a"]);
      });

      it("filters by context, state and time in every combination, with totals", async () => {
        const made: { id: string; contextId: string; state: TaskState; statusMs: number }[] = [];
        for (let index = 0; index < 60; index++) {
          const contextId = ["c1", "c2", "c3"][index % 3] as string;
          const state = [SUBMITTED, WORKING, COMPLETED, INPUT_REQUIRED][index % 4] as TaskState;
          made.push({ id: `t${index}`, contextId, state, statusMs: 1_000 + (index % 7) });
        }
        await Promise.all(made.map(({ id, ...at }) => put(id, at)));
        for (const contextId of [undefined, "c1", "c2", "unknown"]) {
          for (const state of [undefined, WORKING, COMPLETED, FAILED]) {
            for (const statusAfterMs of [undefined, 0, 1_003, 1_007]) {
              const matching = made
                .filter((task) => contextId === undefined || task.contextId === contextId)
                .filter((task) => state === undefined || task.state === state)
                .filter((task) => statusAfterMs === undefined || task.statusMs >= statusAfterMs)
                .sort((a, b) => b.statusMs - a.statusMs || (a.id < b.id ? 1 : -1))
                .map(({ id }) => id);
              const filter = {
                ...(contextId !== undefined && { contextId }),
                ...(state !== undefined && { state }),
                ...(statusAfterMs !== undefined && { statusAfterMs }),
              };
              expect(
                await walk({ ...filter, pageSize: 4, artifacts: false }),
                JSON.stringify(filter),
              ).toEqual({
                ids: matching,
                totals: new Set([matching.length]),
              });
            }
          }
        }
      });

      /** Follows the cursors to the end. */
      async function walk(query: ListQuery) {
        const seen: string[] = [];
        const totals = new Set<number>();
        for (let after: ListQuery["after"]; ; ) {
          const page = await store.list(scope, { ...query, ...(after && { after }) });
          expect(page.tasks.length).toBeLessThanOrEqual(query.pageSize);
          seen.push(...page.tasks.map((task) => task.id));
          totals.add(page.total);
          after = page.next;
          if (!after) return { ids: seen, totals };
        }
      }

      it("has no next page when the last one is exactly full", async () => {
        await put("a", { statusMs: 1 });
        await put("b", { statusMs: 2 });
        const page = await store.list(scope, { ...everything, pageSize: 2 });
        expect(page.tasks).toHaveLength(2);
        expect("next" in page).toBe(false);
        const first = await store.list(scope, { ...everything, pageSize: 1 });
        expect(first.next).toEqual({ statusMs: 2, id: "b" });
      });

      it("walks many tasks of one time without a gap or a repeat", async () => {
        const names = Array.from({ length: 57 }, (_, index) => `t${index}`);
        await Promise.all(
          names.map((id, index) => put(id, { statusMs: 7, state: index % 2 ? WORKING : COMPLETED })),
        );
        const { ids: seen } = await walk({ pageSize: 10, artifacts: false });
        expect(seen).toEqual([...names].sort().reverse());
      });

      it("keeps its place while tasks change and go", async () => {
        for (let index = 0; index < 6; index++) await put(`t${index}`, { statusMs: index, state: COMPLETED });
        const first = await store.list(scope, { ...everything, pageSize: 3 });
        expect(first.tasks.map((task) => task.id)).toEqual(["t5", "t4", "t3"]);
        await put("newest", { statusMs: 100 });
        // The very task that the cursor names goes away.
        await store.expire({ states: [COMPLETED], beforeMs: 1, limit: 1 });
        const log = createLogWriter(await store.get(scope, "t3"));
        await store.commit(scope, "t3", log.write([status(FAILED, 50)]));
        expect(await ids({ ...(first.next && { after: first.next }) })).toEqual(["t2", "t1"]);
      });

      it("leaves artifacts out unless asked for", async () => {
        const log = createLogWriter();
        const responses = [
          opening({ id: "a", contextId: "c" }),
          chunk({ artifactId: "x", parts: [text("1")] }),
        ];
        await store.commit(scope, "a", log.write(responses, { snapshot: true }));
        await store.commit(scope, "a", log.write([chunk({ artifactId: "y" }), status(WORKING, 1, "w")]));
        const without = await store.list(scope, { ...everything, artifacts: false });
        expect(without.tasks[0]?.artifacts).toEqual([]);
        expect(without.tasks[0]?.status?.message?.messageId).toBe("w");
        const within = await store.list(scope, { ...everything, artifacts: true });
        expect(within.tasks[0]?.artifacts.map(({ artifactId }) => artifactId)).toEqual(["x", "y"]);
      });
    });

    describe("scopes (S1-06, specification 13.1)", () => {
      it("show nothing of one another, by any method", async () => {
        await put("a", { state: INPUT_REQUIRED, messageId: "m1" });
        await put("b", { state: WORKING });
        for (const other of OTHERS) {
          expect(await store.get(other, "a")).toBeUndefined();
          expect(await store.entries(other, "a", 0, 10)).toEqual([]);
          expect(await store.list(other, everything)).toEqual({ tasks: [], total: 0 });
          expect(await store.list(other, { ...everything, contextId: "c", state: WORKING })).toMatchObject({
            total: 0,
          });
          expect(await store.byMessage(other, "m1")).toBeUndefined();
          expect(await store.waiting(other, "c", 10)).toEqual([]);
          expect(await store.running(other, "c", 10)).toEqual([]);
          const followUp = createLogWriter(await store.get(scope, "a")).write([status(WORKING)]);
          expect(await store.commit(other, "a", followUp)).toEqual(lostSeq);
        }
        expect(await store.get(scope, "a")).toMatchObject({ seq: 2 });
      });

      it("may use the same ids, each for its own", async () => {
        await put("a", { state: INPUT_REQUIRED, messageId: "m1" });
        for (const [index, other] of OTHERS.entries()) {
          const task = await put("a", { to: other, state: WORKING, statusMs: index, messageId: "m1" });
          expectTask((await store.get(other, "a"))?.task, task);
          expect(await store.list(other, { ...everything, contextId: "c" })).toMatchObject({ total: 1 });
        }
        expect((await store.get(scope, "a"))?.task.status?.state).toBe(INPUT_REQUIRED);
        expect(await store.countByState()).toEqual(
          new Map([
            [INPUT_REQUIRED, 1],
            [WORKING, OTHERS.length],
          ]),
        );
      });
    });

    describe("lookup by context", () => {
      it("tells which tasks wait and which run, newest first and at most so many (S2-03)", async () => {
        await put("w1", { state: INPUT_REQUIRED, statusMs: 1 });
        await put("w2", { state: AUTH_REQUIRED, statusMs: 2 });
        await put("r1", { state: SUBMITTED, statusMs: 3 });
        await put("r2", { state: WORKING, statusMs: 4 });
        await put("done", { state: COMPLETED, statusMs: 5 });
        await put("elsewhere", { state: INPUT_REQUIRED, statusMs: 6, contextId: "other" });
        expect(await store.waiting(scope, "c", 10)).toEqual(["w2", "w1"]);
        expect(await store.waiting(scope, "c", 1)).toEqual(["w2"]);
        expect(await store.running(scope, "c", 10)).toEqual(["r2", "r1"]);
        expect(await store.running(scope, "c", 1)).toEqual(["r2"]);
        expect(await store.waiting(scope, "unknown", 10)).toEqual([]);
        const log = createLogWriter(await store.get(scope, "w2"));
        await store.commit(scope, "w2", log.write([status(WORKING, 9)]));
        expect(await store.waiting(scope, "c", 10)).toEqual(["w1"]);
        expect(await store.running(scope, "c", 10)).toEqual(["w2", "r2", "r1"]);
      });
    });

    describe("upkeep", () => {
      it("walks the unfinished tasks of all scopes while they are being finished", async () => {
        const expected: string[] = [];
        for (const to of [scope, ...OTHERS]) {
          for (const [id, state] of [
            ["s", SUBMITTED],
            ["w", WORKING],
            ["i", INPUT_REQUIRED],
            ["d", COMPLETED],
          ] as const) {
            await put(id, { to, state });
            if (state === SUBMITTED || state === WORKING) expected.push(JSON.stringify([to, id]));
          }
        }
        const seen: string[] = [];
        let after: Parameters<FullTaskStore["unfinished"]>[0];
        for (;;) {
          const some = await store.unfinished(after, 5);
          for (const { scope: of, taskId } of some) {
            seen.push(JSON.stringify([of, taskId]));
            const log = createLogWriter(await store.get(of, taskId));
            await store.commit(of, taskId, log.write([status(FAILED, 9)], { snapshot: true }));
          }
          after = some.at(-1);
          if (!after) break;
        }
        expect(seen.toSorted()).toEqual(expected.toSorted());
        expect(await store.unfinished(undefined, 5)).toEqual([]);
      });

      it("deletes by state, age and tenant, with keys and counters, the rest untouched", async () => {
        const other = { tenant: "u", owner: "o" };
        await put("old", { state: COMPLETED, statusMs: 1, messageId: "m-old" });
        await put("waits", { state: INPUT_REQUIRED, statusMs: 1 });
        await put("young", { state: COMPLETED, statusMs: 10, messageId: "m-young" });
        await put("old", { state: COMPLETED, statusMs: 1, to: other });
        await put("failed", { state: FAILED, statusMs: 1, to: other });
        const rule = { states: [COMPLETED, FAILED], beforeMs: 10, limit: 100 };
        expect(await store.expire({ ...rule, tenant: "t" })).toBe(1);
        expect(await store.get(scope, "old")).toBeUndefined();
        expect(await store.entries(scope, "old", 0, 10)).toEqual([]);
        expect(await store.byMessage(scope, "m-old")).toBeUndefined();
        expect(await store.byMessage(scope, "m-young")).toBeDefined();
        expect(await store.list(scope, { ...everything, contextId: "c" })).toMatchObject({ total: 2 });
        expect(await store.get(other, "old")).toBeDefined();
        expect(await store.expire(rule)).toBe(2);
        expect(await store.list(other, everything)).toEqual({ tasks: [], total: 0 });
        expect(await store.expire(rule)).toBe(0);
        expect(await store.countByState()).toEqual(
          new Map([
            [INPUT_REQUIRED, 1],
            [COMPLETED, 1],
          ]),
        );
      });

      it("deletes at most so many at once", async () => {
        for (let index = 0; index < 7; index++) await put(`t${index}`, { state: COMPLETED, statusMs: index });
        const rule = { states: [COMPLETED], beforeMs: 100, limit: 3 };
        expect(await store.expire(rule)).toBe(3);
        expect(await ids()).toEqual(["t6", "t5", "t4", "t3"]);
        expect(await store.expire({ ...rule, limit: 0 })).toBe(0);
        expect(await store.expire({ ...rule, states: [] })).toBe(0);
        expect(await store.expire({ ...rule, limit: 100 })).toBe(4);
        expect(await store.list(scope, everything)).toEqual({ tasks: [], total: 0 });
      });

      it("lets an id and a message id begin anew after their task was deleted", async () => {
        await put("a", { state: COMPLETED, messageId: "m1" });
        await store.expire({ states: [COMPLETED], beforeMs: 1, limit: 1 });
        const late = createLogWriter();
        late.write([opening({ id: "a" }), status(WORKING)]);
        expect(await store.commit(scope, "a", late.write([status(COMPLETED)]))).toEqual(lostSeq);
        const task = await put("a", { contextId: "fresh", messageId: "m1" });
        expectTask((await store.get(scope, "a"))?.task, task);
        expect(await store.entries(scope, "a", 0, 10)).toHaveLength(1);
        expect(await store.list(scope, everything)).toMatchObject({ total: 1 });
        expect(await store.byMessage(scope, "m1")).toMatchObject({ taskId: "a" });
      });
    });

    describe("the end", () => {
      it("settles what was handed over before it closes, and refuses what comes after", async () => {
        const write = createLogWriter().write([opening({ id: "a", contextId: "c" })]);
        const pending = store.commit(scope, "a", write);
        const closing = store.close();
        expect(await pending).toEqual(committed);
        await closing;
        const unavailable = { reason: "UNAVAILABLE" };
        await expect(store.commit(scope, "b", write)).rejects.toMatchObject(unavailable);
        await expect(store.get(scope, "a")).rejects.toMatchObject(unavailable);
        await expect(store.entries(scope, "a", 0, 1)).rejects.toMatchObject(unavailable);
        await expect(store.list(scope, everything)).rejects.toMatchObject(unavailable);
        await expect(store.byMessage(scope, "m")).rejects.toMatchObject(unavailable);
        await expect(store.waiting(scope, "c", 1)).rejects.toMatchObject(unavailable);
        await expect(store.running(scope, "c", 1)).rejects.toMatchObject(unavailable);
        await expect(store.unfinished(undefined, 1)).rejects.toMatchObject(unavailable);
        await expect(store.expire({ states: [], beforeMs: 0, limit: 1 })).rejects.toMatchObject(unavailable);
        await expect(store.expireKeys(0, 1)).rejects.toMatchObject(unavailable);
        await expect(store.countByState()).rejects.toMatchObject(unavailable);
        await store.close();
      });

      it("has a secret of 32 bytes", () => {
        expect(store.secret).toHaveLength(32);
        expect(new Set(store.secret).size).toBeGreaterThan(8);
      });
    });
  });
}
