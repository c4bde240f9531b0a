import { setImmediate as nextTick } from "node:timers/promises";
import type { Database } from "better-sqlite3";
import type { ExpiryRule } from "../task-store.js";
import type { Counters } from "./counters.js";
import type { RecentTasks } from "./recent.js";
import { createTransaction } from "./transaction.js";

/** Tasks deleted in one transaction. */
const TASKS_AT_ONCE = 32;
/** Rows of entries cleared away in one transaction: about a millisecond. */
const ROWS_AT_ONCE = 100;
/** What such a transaction changes, or one that takes tasks out of sight, at most and without large entries. */
const STEP_BYTES = 256 * 1024;

/** What expiry shares with the rest of the store. */
export interface ExpiryOptions {
  readonly db: Database;
  readonly counters: Counters;
  readonly recent: RecentTasks;
  /** True once the store was closed: an expiry that is under way stops at its next step. */
  readonly isClosed: () => boolean;
  /** Told after each step about how many bytes it changed. */
  readonly wrote: (bytes: number) => void;
  /** Resolves while writers are not held back. */
  readonly free: () => Promise<void>;
}

interface DueRow {
  readonly scope: number;
  readonly id: string;
  readonly number: number;
  readonly context: string;
  readonly state: number;
}

interface GarbageRow {
  readonly task: number;
  readonly scope: number;
}

/**
 * Deletes by a rule, in small transactions with room for calls between them. A task first disappears with its
 * counters, then its entries are cleared away; what a crash leaves of them, the next expiry clears.
 */
export function createExpiry(options: ExpiryOptions): (rule: ExpiryRule) => Promise<number> {
  const { isClosed, wrote, free } = options;
  const hideSome = createHiding(options);
  const clearSome = createClearing(options.db);

  /** Expiry writes as much as all calls together: held back as they are, it lets the log come to its end. */
  async function rest(): Promise<void> {
    wrote(STEP_BYTES);
    await nextTick();
    await free();
  }

  async function clearAll(): Promise<void> {
    while (!isClosed() && clearSome()) await rest();
  }

  return async (rule) => {
    await free();
    await clearAll();
    let deleted = 0;
    while (!isClosed() && deleted < rule.limit) {
      const hidden = hideSome(rule, Math.min(TASKS_AT_ONCE, rule.limit - deleted));
      if (hidden === 0) break;
      deleted += hidden;
      await rest();
      await clearAll();
    }
    return deleted;
  };
}

/** Takes at most so many due tasks out of sight; returns how many. */
function createHiding({ db, counters, recent }: ExpiryOptions) {
  const due = createDueTasks(db);
  const add = db.prepare<[number, number]>("INSERT INTO garbage VALUES (?, ?)");
  const remove = db.prepare<[number, string]>("DELETE FROM tasks WHERE scope = ? AND id = ?");
  return createTransaction(db, counters.forget, (rule: ExpiryRule, limit: number): number => {
    const rows = due(rule, limit);
    for (const row of rows) {
      recent.forget(row.id);
      add.run(row.number, row.scope);
      remove.run(row.scope, row.id);
      counters.remove(row.scope, row);
    }
    counters.write();
    return rows.length;
  });
}

function createDueTasks(db: Database) {
  const nextTenant = db
    .prepare<[number, string], string>(
      "SELECT tenant FROM tasks INDEXED BY tasks_by_age WHERE state = ? AND tenant >= ? ORDER BY tenant LIMIT 1",
    )
    .pluck();
  const oldest = db.prepare<[number, string, number, number], DueRow>(
    `SELECT scope, id, number, context, state FROM tasks INDEXED BY tasks_by_age
     WHERE state = ? AND tenant = ? AND status_ms < ? ORDER BY status_ms LIMIT ?`,
  );

  /** The index holds a state's tasks by tenant, so the tenants are found by skipping from one to the next. */
  function* tenants(
    state: number,
    { tenant: only, exceptTenants: except = [] }: ExpiryRule,
  ): Generator<string> {
    if (only !== undefined) {
      if (!except.includes(only)) yield only;
      return;
    }
    let tenant = nextTenant.get(state, "");
    while (tenant !== undefined) {
      if (!except.includes(tenant)) yield tenant;
      tenant = nextTenant.get(state, `${tenant}\0`);
    }
  }

  return (rule: ExpiryRule, limit: number): readonly DueRow[] => {
    const { states, beforeMs } = rule;
    const rows: DueRow[] = [];
    for (const state of states) {
      for (const tenant of tenants(state, rule)) {
        rows.push(...oldest.all(state, tenant, beforeMs, limit - rows.length));
        if (rows.length >= limit) return rows;
      }
    }
    return rows;
  };
}

/** Clears away a bounded number of rows of hidden tasks; returns whether there may be more. */
function createClearing(db: Database) {
  const garbage = db.prepare<[], GarbageRow>("SELECT task, scope FROM garbage LIMIT 1");
  const clearTask = createTaskClearing(db);
  const clear = db.transaction((): boolean => {
    let budget = ROWS_AT_ONCE;
    for (let row = garbage.get(); row; row = garbage.get()) {
      budget -= clearTask(row, budget);
      if (budget <= 0) return true;
    }
    return false;
  });
  return () => garbage.get() !== undefined && clear.immediate();
}

/** Clears at most `budget` rows of one task, with their keys, and the rest of it after the last one. Returns what it cost. */
function createTaskClearing(db: Database) {
  const seqAfter = db
    .prepare<[number, number], number>("SELECT seq FROM entries WHERE task = ? ORDER BY seq LIMIT 1 OFFSET ?")
    .pluck();
  const messageIds = db
    .prepare<[number, number], string>(
      "SELECT message_id FROM entries WHERE task = ? AND seq < ? AND message_id IS NOT NULL",
    )
    .pluck();
  const removeKey = db.prepare<[number, string, number]>(
    "DELETE FROM message_keys WHERE scope = ? AND message_id = ? AND task = ?",
  );
  const removeEntries = db.prepare<[number, number]>("DELETE FROM entries WHERE task = ? AND seq < ?");
  const removeSnapshot = db.prepare<[number]>("DELETE FROM snapshots WHERE task = ?");
  const removeGarbage = db.prepare<[number]>("DELETE FROM garbage WHERE task = ?");

  return ({ task, scope }: GarbageRow, budget: number): number => {
    const end = seqAfter.get(task, budget);
    const before = end ?? Number.MAX_SAFE_INTEGER;
    for (const messageId of messageIds.all(task, before)) removeKey.run(scope, messageId, task);
    const { changes } = removeEntries.run(task, before);
    if (end !== undefined) return budget;
    removeSnapshot.run(task);
    removeGarbage.run(task);
    return changes + 1;
  };
}
