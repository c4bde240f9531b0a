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
  readonly digest: string | null;
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
    [number, string, string | null, number, number | null, string | null, Uint8Array | null]
  >(
    `INSERT OR REPLACE INTO message_keys (scope, message_id, digest, recorded_ms, task, task_id, answer)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const remove = db.prepare<[number, number]>(
    `DELETE FROM message_keys WHERE number IN
     (SELECT number FROM message_keys WHERE recorded_ms < ? ORDER BY recorded_ms LIMIT ?)`,
  );
  const nowMs = () => Math.trunc(now());
  return {
    has: (scope, { messageId }) => exists.get(scope, messageId) !== undefined,
    addTask(scope, key, task, taskId) {
      insert.run(scope, key.messageId, ownDigest(key), nowMs(), task, taskId, null);
    },
    addAnswer(scope, key, answer) {
      insert.run(scope, key.messageId, ownDigest(key), nowMs(), null, null, answer);
    },
    find(scope, messageId) {
      const row = select.get(scope, messageId);
      return row && toRecord(messageId, row);
    },
    expire: (beforeMs, limit) => remove.run(beforeMs, limit).changes,
  };
}

function ownDigest({ messageId, digest }: MessageKey): string | null {
  return digest === messageId ? null : digest;
}

/** A row has a task's id or an answer. */
function toRecord(messageId: string, row: KeyRow): MessageRecord {
  const digest = row.digest ?? messageId;
  if (row.task_id !== null) return { kind: "task", digest, taskId: row.task_id };
  return { kind: "answer", digest, answer: fromStored(MessageSchema, row.answer as Uint8Array) };
}
