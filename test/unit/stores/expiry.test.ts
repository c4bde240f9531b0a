import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { TaskState } from "../../../src/protocol/schema.js";
import { createSqliteStore } from "../../../src/stores/index.js";
import { createCounters } from "../../../src/stores/sqlite/counters.js";
import { createExpiry } from "../../../src/stores/sqlite/expiry.js";
import { openDatabase } from "../../../src/stores/sqlite/open.js";
import { createRecentTasks } from "../../../src/stores/sqlite/recent.js";
import { createGates } from "../../support/gates.js";
import { createLogWriter, opening, status } from "../../support/log.js";
import { createTempDir } from "../../support/temp-dir.js";

const path = join(createTempDir(), "store.db");
const { COMPLETED } = TaskState;
const TASKS = 40;

it("an expiry waits with the writers that are held back, after each of its steps", async () => {
  const store = createSqliteStore({ path });
  const ids = Array.from({ length: TASKS }, (_, index) => `${index}`);
  const finished = (id: string) => createLogWriter().write([opening({ id }), status(COMPLETED)]);
  await Promise.all(ids.map((id) => store.commit({ tenant: "", owner: "" }, id, finished(id))));
  await store.close();

  const db = openDatabase(path, "normal");
  const left = () => db.prepare<[], number>("SELECT count(*) FROM tasks").pluck().get();
  const gates = createGates();
  let waits = 0;
  const expire = createExpiry({
    db,
    counters: createCounters(db),
    recent: createRecentTasks(),
    isClosed: () => false,
    wrote: () => undefined,
    free: () => {
      waits += 1;
      return gates.pass("free");
    },
  });
  const expired = expire({ states: [COMPLETED], beforeMs: 1, limit: TASKS });
  await nextTurn();
  expect(left()).toBe(TASKS);
  await gates.reached("free");
  gates.open("free");
  expect(await expired).toBe(TASKS);
  expect(left()).toBe(0);
  expect(waits).toBeGreaterThan(2); // at first, and after two steps or more
  db.close();
});
