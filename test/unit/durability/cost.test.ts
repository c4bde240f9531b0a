import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agents/agent.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { artifact, complete } from "../../../src/agents/progress.js";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTestEngine, iteratorOf, leadOf, readAll } from "../../support/engine.js";
import { createTempDir } from "../../support/temp-dir.js";

/** An agent that puts out so many chunks, one in each turn of the event loop. */
function chunksOf(count: number): Agent {
  return {
    card: createEchoAgent().card,
    answer: async () => ({
      kind: "task",
      work: (async function* () {
        for (let index = 0; index < count; index += 1) {
          yield artifact(`${index}`, { id: "a", append: index > 0, lastChunk: index === count - 1 });
          await new Promise(setImmediate);
        }
        return complete();
      })(),
    }),
  };
}

interface Cost {
  commits: number;
  /** Entries that were read from the store. */
  read: number;
  /** Entries that snapshots covered, all together: what writing them costs. */
  covered: number;
  gets: number;
}

/** What a store has to do for a stream of so many chunks with two readers. */
async function costOf(open: () => FullTaskStore, count: number): Promise<Cost> {
  const store = open();
  const cost: Cost = { commits: 0, read: 0, covered: 0, gets: 0 };
  const counting: FullTaskStore = {
    ...store,
    async commit(scope, id, write) {
      cost.commits += 1;
      if (write.kind === "task" && write.snapshot) cost.covered += write.expectedSeq + write.entries.length;
      return await store.commit(scope, id, write);
    },
    async get(...args) {
      cost.gets += 1;
      return await store.get(...args);
    },
    async entries(...args) {
      const entries = await store.entries(...args);
      cost.read += entries.length;
      return entries;
    },
  };
  const { stream, call } = createTestEngine({}, { store: counting, agent: chunksOf(count) });
  const events = await stream("go");
  const { id } = await leadOf(events);
  const other = readAll(iteratorOf(await call("subscribeToTask", { id })));
  expect(await readAll(events)).toHaveLength(count + 1);
  expect((await other).length).toBeGreaterThan(count / 2);
  return cost;
}

describe("a stream of many chunks costs what its chunks cost (S2-10)", () => {
  const dir = createTempDir();
  const stores: FullTaskStore[] = [];
  afterAll(async () => {
    for (const store of stores) await store.close();
  });
  const STORES: readonly (readonly [string, () => FullTaskStore])[] = [
    ["memory", createMemoryStore],
    [
      "SQLite",
      () => {
        const store = createSqliteStore({ path: join(dir, `${stores.length}.db`) });
        stores.push(store);
        return store;
      },
    ],
  ];

  it.each(STORES)("on %s: writes, reads and snapshots grow no faster than they do", async (_, open) => {
    for (const count of [100, 1_000, 3_000]) {
      const { commits, read, covered, gets } = await costOf(open, count);
      expect(commits).toBeLessThanOrEqual(count + 3);
      expect(gets).toBe(1);
      // Live readers do not read what they hear; those that come late read it once.
      expect(read).toBeLessThanOrEqual(2 * 64 + 10);
      // One snapshot at the end, and before it one whenever the log has doubled.
      expect(covered).toBeLessThanOrEqual(3 * count + 10);
    }
  });
});
