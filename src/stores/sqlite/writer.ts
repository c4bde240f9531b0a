import type { Database } from "better-sqlite3";
import type { CommitResult } from "../task-store.js";
import type { Counters } from "./counters.js";
import type { EncodedAnswerWrite, EncodedTask, EncodedTaskWrite, EncodedWrite } from "./encode.js";
import type { MessageKeys } from "./keys.js";
import type { RecentTasks } from "./recent.js";
import type { Scopes } from "./scopes.js";
import { createTransaction } from "./transaction.js";

/** What the writer shares with the rest of the store. */
export interface WriterOptions {
  readonly db: Database;
  readonly scopes: Scopes;
  readonly counters: Counters;
  readonly keys: MessageKeys;
  readonly recent: RecentTasks;
}

/** A task's row as a write finds it. */
interface TaskRow {
  readonly number: number;
  readonly context: string;
  readonly state: number;
  /** Of its last entry. */
  readonly seq: number;
}

const COMMITTED: CommitResult = { kind: "committed" };

/**
 * Writes a batch in one transaction and returns a result for each write, in order. A write whose race is lost
 * finds out before it changes anything; an error of the database takes the whole batch back and is thrown.
 */
export function createWriter({ db, scopes, counters, keys, recent }: WriterOptions) {
  const tasks = createTaskRows(db);
  const logs = createLogRows(db);

  function writeTask(write: EncodedTaskWrite): CommitResult {
    const scope = scopes.findOrAdd(write.scope);
    if (write.messageKey && keys.has(scope, write.messageKey)) return { kind: "conflict", on: "message" };
    const known = write.expectedSeq === 0 ? undefined : tasks.find(scope, write.taskId);
    if ((known?.seq ?? 0) !== write.expectedSeq) return { kind: "conflict", on: "seq" };
    recent.forget(write.taskId);
    const number = known ? tasks.update(scope, known, write) : tasks.insert(scope, write);
    if (number === undefined) return { kind: "conflict", on: "seq" };
    if (known && write.plainSeq !== undefined) counters.remove(scope, known);
    if (!known || write.plainSeq !== undefined) counters.add(scope, write);
    logs.append(number, write);
    if (write.snapshot) logs.snapshot(number, write, write.snapshot);
    if (write.messageKey) keys.addTask(scope, write.messageKey, number, write.taskId);
    return COMMITTED;
  }

  function writeAnswer({ scope, messageKey, answer }: EncodedAnswerWrite): CommitResult {
    const number = scopes.findOrAdd(scope);
    if (keys.has(number, messageKey)) return { kind: "conflict", on: "message" };
    keys.addAnswer(number, messageKey, answer);
    return COMMITTED;
  }

  function writeOne(write: EncodedWrite): CommitResult {
    switch (write.kind) {
      case "task":
        return writeTask(write);
      case "answer":
        return writeAnswer(write);
    }
  }

  function forget(): void {
    scopes.forget();
    counters.forget();
  }

  return createTransaction(db, forget, (writes: readonly EncodedWrite[]): readonly CommitResult[] => {
    const results = writes.map(writeOne);
    counters.write();
    return results;
  });
}

/** Numbers are given out here alone, since the file is open to this process only. */
function createTaskRows(db: Database) {
  // Every task has entries, and they are the last thing of it to go.
  let last = db.prepare<[], number | null>("SELECT max(task) FROM entries").pluck().get() ?? 0;
  const select = db.prepare<[number, string], TaskRow>(
    `SELECT t.number, t.context, t.state, (SELECT max(e.seq) FROM entries e WHERE e.task = t.number) AS seq
     FROM tasks t WHERE t.scope = ? AND t.id = ?`,
  );
  const insert = db.prepare<[number, string, number, string, string, number, number, number]>(
    "INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, id) DO NOTHING",
  );
  const update = db.prepare<[string, number, number, number, number, string]>(
    "UPDATE tasks SET context = ?, state = ?, status_ms = ?, plain_seq = ? WHERE scope = ? AND id = ?",
  );
  return {
    find: (scope: number, id: string) => select.get(scope, id),
    /** The new task's number; undefined when there is one with this id already. */
    insert(
      scope: number,
      { taskId, scope: { tenant }, context, state, statusMs, plainSeq = 0 }: EncodedTaskWrite,
    ): number | undefined {
      const { changes } = insert.run(scope, taskId, last + 1, tenant, context, state, statusMs, plainSeq);
      if (changes === 0) return undefined;
      last += 1;
      return last;
    },
    /** Artifact updates change nothing in the row. */
    update(scope: number, known: TaskRow, { taskId, context, state, statusMs, plainSeq }: EncodedTaskWrite) {
      if (plainSeq !== undefined) update.run(context, state, statusMs, plainSeq, scope, taskId);
      return known.number;
    },
  };
}

function createLogRows(db: Database) {
  const lastNumber = db
    .prepare<[number], number>(
      "SELECT number FROM entries WHERE task = ? AND number > 0 ORDER BY seq DESC LIMIT 1",
    )
    .pluck();
  const insert = db.prepare<[number, number, number, number, string | null, Uint8Array, number]>(
    "INSERT INTO entries (task, seq, number, artifact, message_id, event, count) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const snapshot = db.prepare<[number, number, number, Uint8Array, Uint8Array]>(
    "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
  );
  return {
    /** The message's id stays with the first row, by which it is found when the task is deleted. */
    append(task: number, { rows, messageKey }: EncodedTaskWrite) {
      rows.forEach(({ seq, number, artifact, count, event }, index) => {
        const messageId = index === 0 ? (messageKey?.messageId ?? null) : null;
        insert.run(task, seq, number, artifact ? 1 : 0, messageId, event, count);
      });
    },
    snapshot(task: number, { lastSeq, rows }: EncodedTaskWrite, { head, artifacts }: EncodedTask) {
      const number = rows.findLast((row) => row.number > 0)?.number ?? lastNumber.get(task) ?? 0;
      snapshot.run(task, lastSeq, number, head, artifacts);
    },
  };
}
