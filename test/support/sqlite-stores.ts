import { join } from "node:path";
import { afterEach } from "vitest";
import { createSqliteStore } from "../../src/stores/index.js";
import type { FullTaskStore } from "../../src/stores/task-store.js";
import { createTempDir } from "./temp-dir.js";

/** Opens SQLite stores, each in a fresh file unless a path is given, and closes them after the test that opened them. */
export function createSqliteStores(): (path?: string) => FullTaskStore {
  const dir = createTempDir();
  const open: FullTaskStore[] = [];
  let files = 0;
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close();
  });
  return (path = join(dir, `${files++}.db`)) => {
    const store = createSqliteStore({ path });
    open.push(store);
    return store;
  };
}
