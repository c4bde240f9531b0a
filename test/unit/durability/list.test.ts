import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { ListTasksRequestSchema, type ListTasksResponse, TaskState } from "../../../src/protocol/schema.js";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTestEngine, type TestEngine, withParameters } from "../../support/engine.js";
import { messageOf, reasonOf, taskOf } from "../../support/outcomes.js";
import { createRandom } from "../../support/random.js";
import { createSqliteStores } from "../../support/sqlite-stores.js";
import { createTempDir } from "../../support/temp-dir.js";

const { COMPLETED, INPUT_REQUIRED, WORKING } = TaskState;
const scripts = {
  ask: [{ done: "INPUT_REQUIRED" }],
  done: [{ done: "COMPLETED" }],
  work: [{ status: "WORKING" }, { gate: "never" }, { done: "COMPLETED" }],
} as const;

const dir = createTempDir();
const openSqlite = createSqliteStores();

const STORES: readonly (readonly [string, () => FullTaskStore])[] = [
  ["memory", createMemoryStore],
  ["SQLite", () => openSqlite()],
];

function engineOn(store: FullTaskStore): TestEngine {
  let now = Date.UTC(2026, 0, 1);
  return createTestEngine(scripts, {
    store,
    now: () => (now += 1),
    tenants: ["other"],
    policy: { followUps: "new-task" },
  });
}

async function list(engine: TestEngine, request: object, owner = "alice"): Promise<ListTasksResponse> {
  const given = create(ListTasksRequestSchema, request);
  return messageOf<ListTasksResponse>(
    await engine.call("listTasks", given, withParameters({ "x-owner": owner })),
  );
}

/** What the list is asked for, and the request for the page after the first. */
async function firstPage(engine: TestEngine, request: object = {}) {
  const { nextPageToken } = await list(engine, { pageSize: 2, ...request });
  expect(nextPageToken).not.toBe("");
  return nextPageToken;
}

describe.each(STORES)("ListTasks on %s (S2-10)", (_, open) => {
  it("refuses a token of another caller, tenant or filter, and takes one with another page size", async () => {
    const engine = engineOn(open());
    for (let index = 0; index < 5; index += 1) await engine.send("ask", { contextId: "c" });
    for (let index = 0; index < 5; index += 1) {
      await engine.send("ask", { contextId: "c" }, {}, withParameters({ "x-owner": "bob" }));
    }
    const after = timestampFromMs(Date.UTC(2025, 0, 1));
    const filters = [
      {},
      { contextId: "c" },
      { status: INPUT_REQUIRED },
      { statusTimestampAfter: after },
      { contextId: "c", status: INPUT_REQUIRED },
    ];
    for (const [own, filter] of filters.entries()) {
      const pageToken = await firstPage(engine, filter);
      const refused: Promise<string>[] = filters
        .filter((_each, index) => index !== own)
        .map((other) => reasonOf(list(engine, { ...other, pageToken })));
      refused.push(reasonOf(list(engine, { ...filter, pageToken }, "bob")));
      refused.push(reasonOf(list(engine, { ...filter, pageToken, tenant: "other" })));
      expect(new Set(await Promise.all(refused))).toEqual(new Set(["INVALID_ARGUMENT"]));
      const rest = await list(engine, { ...filter, pageToken, pageSize: 100, historyLength: 0 });
      expect([rest.tasks.length, rest.nextPageToken, rest.totalSize]).toEqual([3, "", 5]);
    }
  });

  it("refuses a token that was changed in any place, and one of another store", async () => {
    const engine = engineOn(open());
    for (let index = 0; index < 3; index += 1) await engine.send("done");
    const token = await firstPage(engine);
    const changed = [...token].map((letter, index) => {
      const other = letter === "A" ? "B" : "A";
      return `${token.slice(0, index)}${other}${token.slice(index + 1)}`;
    });
    const others = [
      ...changed,
      token.slice(1),
      `${token}A`,
      `${token}=`,
      token.toUpperCase(),
      "x",
      " ",
      "0",
      token + token,
    ];
    const elsewhere = engineOn(open());
    for (let index = 0; index < 3; index += 1) await elsewhere.send("done");
    others.push(await firstPage(elsewhere));
    const reasons = await Promise.all(others.map((pageToken) => reasonOf(list(engine, { pageToken }))));
    expect(new Set(reasons)).toEqual(new Set(["INVALID_ARGUMENT"]));
    expect((await list(engine, { pageToken: token })).tasks).toHaveLength(1);
  });

  it("shows each task that does not change exactly once, and right totals, while others come, change and go", async () => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const random = createRandom(seed);
      const engine = engineOn(open());
      const still: string[] = [];
      const lively: string[] = [];
      for (let index = 0; index < 40; index += 1) {
        const { id } = taskOf(await engine.send("ask", { contextId: `c${index % 3}` }));
        (index % 2 ? still : lively).push(id);
      }
      const stir = async (): Promise<void> => {
        const id = lively.splice(random.below(lively.length), 1)[0];
        if (id === undefined || random.below(2) === 0) await engine.send("ask");
        else await engine.send("done", { taskId: id });
      };
      const seen: string[] = [];
      let pageToken = "";
      do {
        const page = await list(engine, { pageSize: 1 + random.below(7), pageToken });
        const { size } = new Set(page.tasks.map(({ id }) => id));
        expect(size).toBe(page.tasks.length);
        seen.push(...page.tasks.map(({ id }) => id));
        pageToken = page.nextPageToken;
        for (let count = random.below(4); count > 0; count -= 1) await stir();
        const now = (
          await engine.store.list({ tenant: "", owner: "alice" }, { pageSize: 1_000, artifacts: false })
        ).tasks;
        expect((await list(engine, { pageSize: 1 })).totalSize).toBe(now.length);
        expect((await list(engine, { pageSize: 1, status: COMPLETED })).totalSize).toBe(
          now.filter(({ status }) => status?.state === COMPLETED).length,
        );
      } while (pageToken !== "");
      expect(seen.filter((id) => still.includes(id)).sort()).toEqual([...still].sort());
      expect(new Set(seen).size).toBe(seen.length);
    }
  });

  it("shows nothing of other owners and tenants, nor counts them", async () => {
    const engine = engineOn(open());
    await engine.send("ask", { contextId: "c" });
    await engine.send(
      "work",
      { contextId: "c" },
      { returnImmediately: true },
      withParameters({ "x-owner": "bob" }),
    );
    for (const filter of [{}, { contextId: "c" }, { status: WORKING }, { contextId: "c", status: WORKING }]) {
      const { tasks, totalSize } = await list(engine, filter);
      const expected = "status" in filter ? 0 : 1;
      expect([tasks.length, totalSize]).toEqual([expected, expected]);
      expect((await list(engine, { ...filter, tenant: "other" })).totalSize).toBe(0);
    }
  });
});

it("a page token is good after a restart (S2-10)", async () => {
  const path = join(dir, "restart.db");
  const store = createSqliteStore({ path });
  const before = engineOn(store);
  for (let index = 0; index < 3; index += 1) await before.send("done");
  const pageToken = await firstPage(before);
  await store.close();
  const after = engineOn(openSqlite(path));
  expect((await list(after, { pageToken })).tasks).toHaveLength(1);
});

it("refuses what no page can be, naming the field", async () => {
  const engine = engineOn(createMemoryStore());
  for (const request of [
    { pageSize: 0 },
    { pageSize: 101 },
    { pageSize: -1 },
    { status: 99 },
    { historyLength: -1 },
    { contextId: "a b" },
    { pageToken: "x" },
  ]) {
    const [field = ""] = Object.keys(request);
    await expect(list(engine, request)).rejects.toMatchObject({
      reason: "INVALID_ARGUMENT",
      violations: [{ field }],
    });
  }
});
