import type { Database } from "better-sqlite3";
import { type Entry, entryFromBinary } from "../../protocol/entry.js";
import type { Task } from "../../protocol/schema.js";
import { createFold } from "../../protocol/task.js";
import type { Snapshot } from "../task-store.js";
import { decodeTask } from "./encode.js";

/** Reads tasks and their logs; `number` is what a task's row knows it by. */
export interface Reader {
  /** The task with its whole log folded in. */
  snapshot(scope: number, id: string): Snapshot | undefined;
  entries(scope: number, id: string, after: number, limit: number): readonly Entry[];
  /** The task without artifacts; `plainSeq` as in its row, which tells whether there is a log to fold at all. */
  head(number: number, plainSeq: number): Task;
  /** The task with its artifacts. */
  whole(number: number): Task;
}

interface EntryRow {
  readonly seq: number;
  readonly number: number;
  readonly event: Uint8Array;
}

interface SnapshotRow {
  readonly seq: number;
  readonly number: number;
  readonly head: Uint8Array;
}

interface WholeSnapshotRow extends SnapshotRow {
  readonly artifacts: Uint8Array;
}

export function createReader(db: Database): Reader {
  const number = db
    .prepare<[number, string], number>("SELECT number FROM tasks WHERE scope = ? AND id = ?")
    .pluck();
  const wholeSnapshot = db.prepare<[number], WholeSnapshotRow>(
    "SELECT seq, number, head, artifacts FROM snapshots WHERE task = ?",
  );
  const headSnapshot = db.prepare<[number], SnapshotRow>(
    "SELECT seq, number, head FROM snapshots WHERE task = ?",
  );
  const wholeTail = db.prepare<[number, number, number], EntryRow>(
    "SELECT seq, number, event FROM entries WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?",
  );
  const plainTail = db.prepare<[number, number], EntryRow>(
    "SELECT seq, number, event FROM entries WHERE task = ? AND seq > ? AND artifact = 0 ORDER BY seq",
  );

  function current(task: number): Snapshot {
    const row = wholeSnapshot.get(task);
    return fold(row, row?.artifacts, wholeTail.all(task, row?.seq ?? 0, NO_LIMIT));
  }

  return {
    snapshot(scope, id) {
      const task = number.get(scope, id);
      return task === undefined ? undefined : current(task);
    },
    entries(scope, id, after, limit) {
      const task = number.get(scope, id);
      if (task === undefined) return [];
      return wholeTail.all(task, after, limit).map((row) => entryFromBinary(row.seq, row.number, row.event));
    },
    head(task, plainSeq) {
      const row = headSnapshot.get(task);
      const isCurrent = row !== undefined && row.seq >= plainSeq;
      return fold(row, undefined, isCurrent ? [] : plainTail.all(task, row?.seq ?? 0)).task;
    },
    whole: (task) => current(task).task,
  };
}

/** SQLite's own sign for it. */
const NO_LIMIT = -1;

function fold(
  from: SnapshotRow | undefined,
  artifacts: Uint8Array | undefined,
  tail: readonly EntryRow[],
): Snapshot {
  const task = from && decodeTask(from.head, artifacts);
  if (task && tail.length === 0) return { task, seq: from.seq, number: from.number };
  const growing = createFold(task);
  for (const { seq, number, event } of tail)
    growing.apply(entryFromBinary(seq, number, event).event.response);
  return {
    task: growing.task(),
    seq: tail.at(-1)?.seq ?? 0,
    number: tail.findLast((entry) => entry.number > 0)?.number ?? from?.number ?? 0,
  };
}
