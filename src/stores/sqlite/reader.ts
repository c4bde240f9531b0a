import type { Database } from "better-sqlite3";
import { type Entry, entryFromBinary } from "../../protocol/entry.js";
import type { Task } from "../../protocol/schema.js";
import { createFold } from "../../protocol/task.js";
import type { Snapshot } from "../task-store.js";
import { decodeTask } from "./encode.js";

/** Reads tasks and their logs. */
export interface Reader {
  /** The task with its whole log folded in. */
  snapshot(scope: number, id: string): Snapshot | undefined;
  entries(scope: number, id: string, after: number, limit: number): readonly Entry[];
  /** The task without artifacts, by the number and `plain_seq` of its row, which tells whether there is a log to fold at all. */
  head(number: number, plainSeq: number): Task;
}

interface EntryRow {
  readonly seq: number;
  readonly number: number;
  readonly event: Uint8Array;
}

interface HeadRow {
  readonly seq: number;
  readonly number: number;
  readonly head: Uint8Array;
}

/** The last four are null for a task without a snapshot. */
interface TaskRow {
  readonly task: number;
  readonly seq: number | null;
  readonly number: number | null;
  readonly head: Uint8Array | null;
  readonly artifacts: Uint8Array | null;
}

export function createReader(db: Database): Reader {
  const task = db.prepare<[number, string], TaskRow>(
    `SELECT t.number AS task, s.seq, s.number, s.head, s.artifacts
     FROM tasks t LEFT JOIN snapshots s ON s.task = t.number WHERE t.scope = ? AND t.id = ?`,
  );
  const head = db.prepare<[number], HeadRow>("SELECT seq, number, head FROM snapshots WHERE task = ?");
  const tail = db.prepare<[number, number], EntryRow>(
    "SELECT seq, number, event FROM entries WHERE task = ? AND seq > ? ORDER BY seq",
  );
  const plainTail = db.prepare<[number, number], EntryRow>(
    "SELECT seq, number, event FROM entries WHERE task = ? AND seq > ? AND artifact = 0 ORDER BY seq",
  );
  const entries = db.prepare<[number, string, number, number], EntryRow>(
    `SELECT e.seq, e.number, e.event FROM tasks t JOIN entries e ON e.task = t.number
     WHERE t.scope = ? AND t.id = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`,
  );
  return {
    snapshot(scope, id) {
      const row = task.get(scope, id);
      return row && fold(toSnapshot(row), tail.all(row.task, row.seq ?? 0));
    },
    entries: (scope, id, after, limit) => entries.all(scope, id, after, limit).map(toEntry),
    head(number, plainSeq) {
      const row = head.get(number);
      const from = row && { task: decodeTask(row.head, null), seq: row.seq, number: row.number };
      if (from && from.seq >= plainSeq) return from.task;
      return fold(from, plainTail.all(number, from?.seq ?? 0)).task;
    },
  };
}

function toSnapshot({ seq, number, head, artifacts }: TaskRow): Snapshot | undefined {
  if (seq === null || number === null || head === null) return undefined;
  return { task: decodeTask(head, artifacts), seq, number };
}

function toEntry({ seq, number, event }: EntryRow): Entry {
  return entryFromBinary(seq, number, event);
}

function fold(from: Snapshot | undefined, tail: readonly EntryRow[]): Snapshot {
  const last = tail.at(-1);
  if (from && !last) return from;
  const growing = createFold(from?.task);
  for (const row of tail) growing.apply(toEntry(row).event.response);
  return {
    task: growing.task(),
    seq: last?.seq ?? 0,
    number: tail.findLast(({ number }) => number > 0)?.number ?? from?.number ?? 0,
  };
}
