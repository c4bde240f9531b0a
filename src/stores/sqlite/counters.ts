import type { Database } from "better-sqlite3";
import { ALL_SCOPES } from "./scopes.js";

/** Where one task is counted within its scope. */
export interface CountedTask {
  readonly context: string;
  readonly state: number;
}

/** How many tasks are in one state. */
export interface StateCount {
  readonly state: number;
  readonly count: number;
}

/** Numbers of tasks by scope, context and state. Changes gather in memory and are written once per transaction. */
export interface Counters {
  add(scope: number, task: CountedTask): void;
  remove(scope: number, task: CountedTask): void;
  /** Writes what gathered; the last step of a transaction. */
  write(): void;
  /** Drops what gathered in a transaction that was rolled back. */
  forget(): void;
  /** States in which a scope, or one of its contexts, has tasks. */
  read(scope: number, context?: string): readonly StateCount[];
}

interface Change extends CountedTask {
  readonly scope: number;
  by: number;
}

export function createCounters(db: Database): Counters {
  const scopes = createScopeCounts(db);
  const contexts = createContextCounts(db);
  let scopeChanges = new Map<string, Change>();
  let contextChanges = new Map<string, Change>();

  function change(scope: number, { context, state }: CountedTask, by: number): void {
    gather(scopeChanges, `${scope}:${state}`, { scope, context, state, by });
    gather(scopeChanges, `${ALL_SCOPES}:${state}`, { scope: ALL_SCOPES, context, state, by });
    gather(contextChanges, `${scope}:${state}:${context}`, { scope, context, state, by });
  }

  /** With new maps: the table of a cleared one leads from what was in it to what comes, and keeps both from the young collector. */
  function forget(): void {
    scopeChanges = new Map();
    contextChanges = new Map();
  }

  return {
    add: (scope, task) => change(scope, task, 1),
    remove: (scope, task) => change(scope, task, -1),
    write() {
      for (const each of scopeChanges.values()) if (each.by !== 0) scopes.change(each);
      for (const each of contextChanges.values()) if (each.by !== 0) contexts.change(each);
      forget();
    },
    forget,
    read: (scope, context) => (context === undefined ? scopes.read(scope) : contexts.read(scope, context)),
  };
}

function gather(changes: Map<string, Change>, key: string, change: Change): void {
  const known = changes.get(key);
  if (known) known.by += change.by;
  else changes.set(key, change);
}

function createScopeCounts(db: Database) {
  const upsert = db.prepare<[number, number, number]>(
    `INSERT INTO scope_counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  );
  const select = db.prepare<[number], StateCount>(
    "SELECT state, count FROM scope_counts WHERE scope = ? AND count > 0",
  );
  return {
    change: ({ scope, state, by }: Change) => upsert.run(scope, state, by),
    read: (scope: number) => select.all(scope),
  };
}

/** There are as many contexts as conversations, so a count that comes to nothing leaves no row. */
function createContextCounts(db: Database) {
  const upsert = db.prepare<[number, string, number, number]>(
    `INSERT INTO context_counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  );
  const remove = db.prepare<[number, string, number, number]>(
    "DELETE FROM context_counts WHERE scope = ? AND context = ? AND state = ? AND count = ?",
  );
  const select = db.prepare<[number, string], StateCount>(
    "SELECT state, count FROM context_counts WHERE scope = ? AND context = ?",
  );
  return {
    change({ scope, context, state, by }: Change) {
      if (by < 0 && remove.run(scope, context, state, -by).changes > 0) return;
      upsert.run(scope, context, state, by);
    },
    read: (scope: number, context: string) => select.all(scope, context),
  };
}
