import type { Database } from "better-sqlite3";
import { fromStored } from "../../protocol/event.js";
import { MessageSchema } from "../../protocol/schema.js";
import type { MessageKey, MessageRecord } from "../task-store.js";

/** What earlier sends led to, by message id within a scope. */
export interface MessageKeys {
  has(scope: number, key: MessageKey): boolean;
  /** `task` and `taskId`: number and id of the task. */
  addTask(scope: number, key: MessageKey, task: number, taskId: string): void;
  addAnswer(scope: number, key: MessageKey, answer: Uint8Array): void;
  find(scope: number, messageId: string): MessageRecord | undefined;
  /** Deletes at most `limit` keys recorded before the given time, the oldest first; returns how many. */
  expire(beforeMs: number, limit: number): number;
}

interface KeyRow {
  readonly digest: string;
  readonly task_id: string | null;
  readonly answer: Uint8Array | null;
}

/** The key of a task that was deleted counts for nothing, though it may linger a moment. */
const LIVE_KEY = `scope = ? AND message_id = ? AND (task IS NULL OR EXISTS
  (SELECT 1 FROM tasks t WHERE t.scope = k.scope AND t.id = k.task_id AND t.number = k.task))`;

export function createMessageKeys(db: Database, now: () => number): MessageKeys {
  const exists = db.prepare<[number, string], 1>(`SELECT 1 FROM message_keys k WHERE ${LIVE_KEY}`).pluck();
  const select = db.prepare<[number, string], KeyRow>(
    `SELECT digest, task_id, answer FROM message_keys k WHERE ${LIVE_KEY}`,
  );
  const insert = db.prepare<
    [number, string, string, number, number | null, string | null, Uint8Array | null]
  >("INSERT OR REPLACE INTO message_keys VALUES (?, ?, ?, ?, ?, ?, ?)");
  const remove = db.prepare<[number, number]>(
    `DELETE FROM message_keys WHERE (scope, message_id) IN
     (SELECT scope, message_id FROM message_keys WHERE recorded_ms < ? ORDER BY recorded_ms LIMIT ?)`,
  );
  const nowMs = () => Math.trunc(now());
  return {
    has: (scope, { messageId }) => exists.get(scope, messageId) !== undefined,
    addTask(scope, { messageId, digest }, task, taskId) {
      insert.run(scope, messageId, digest, nowMs(), task, taskId, null);
    },
    addAnswer(scope, { messageId, digest }, answer) {
      insert.run(scope, messageId, digest, nowMs(), null, null, answer);
    },
    find(scope, messageId) {
      const row = select.get(scope, messageId);
      return row && toRecord(row);
    },
    expire: (beforeMs, limit) => remove.run(beforeMs, limit).changes,
  };
}

/** A row has a task's id or an answer. */
function toRecord({ digest, task_id, answer }: KeyRow): MessageRecord {
  if (task_id !== null) return { kind: "task", digest, taskId: task_id };
  return { kind: "answer", digest, answer: fromStored(MessageSchema, answer as Uint8Array) };
}
