import type { Database } from "better-sqlite3";
import type { Entry } from "../../protocol/entry.js";
import type { Task } from "../../protocol/schema.js";
import { createFold } from "../../protocol/task.js";
import type { Snapshot } from "../task-store.js";
import { decodeTask, joinTask } from "./encode.js";
import { type EntryRow, isArtifactUpdate, unpackEntries } from "./pack.js";
import type { RecentTasks, StoredTask } from "./recent.js";

/** Reads tasks and their logs. */
export interface Reader {
  /** The task with its whole log folded in. */
  snapshot(scope: number, id: string): Snapshot | undefined;
  entries(scope: number, id: string, after: number, limit: number): readonly Entry[];
  /** The task without artifacts, by the number and `plain_seq` of its row, which tells whether there is a log to fold at all. */
  head(number: number, plainSeq: number): Task;
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

export function createReader(db: Database, recent: RecentTasks): Reader {
  const task = db.prepare<[number, string], TaskRow>(
    `SELECT t.number AS task, s.seq, s.number, s.head, s.artifacts
     FROM tasks t LEFT JOIN snapshots s ON s.task = t.number WHERE t.scope = ? AND t.id = ?`,
  );
  const head = db.prepare<[number], HeadRow>("SELECT seq, number, head FROM snapshots WHERE task = ?");
  const tail = db.prepare<[number, number], EntryRow>(
    "SELECT seq, number, count, event FROM entries WHERE task = ? AND seq > ? ORDER BY seq",
  );
  const plainTail = db.prepare<[number, number], EntryRow>(
    "SELECT seq, number, count, event FROM entries WHERE task = ? AND seq > ? AND artifact = 0 ORDER BY seq",
  );
  const rowsAfter = db.prepare<[number, string, number], EntryRow>(
    `SELECT e.seq, e.number, e.count, e.event FROM tasks t JOIN entries e ON e.task = t.number
     WHERE t.scope = ? AND t.id = ? AND e.seq > ? ORDER BY e.seq`,
  );

  /** Reads no more rows than it takes. */
  function entries(scope: number, id: string, after: number, limit: number): readonly Entry[] {
    const found: Entry[] = [];
    if (limit <= 0) return found;
    for (const row of rowsAfter.iterate(scope, id, after)) {
      found.push(...unpackAfter(row, after));
      if (found.length >= limit) break;
    }
    return found.slice(0, limit);
  }

  function read(scope: number, id: string): Snapshot | undefined {
    const row = task.get(scope, id);
    if (row === undefined) return undefined;
    const stored = toStored(scope, row);
    const rest = tail.all(row.task, stored?.seq ?? 0).flatMap((each) => unpackAfter(each, stored?.seq));
    if (stored && rest.length === 0) recent.keep(id, stored);
    return fold(stored && toSnapshot(stored), rest);
  }

  return {
    snapshot: (scope, id) => {
      const known = recent.get(scope, id);
      return known ? toSnapshot(known) : read(scope, id);
    },
    entries,
    head(number, plainSeq) {
      const row = head.get(number);
      const from = row && { task: decodeTask(row.head), seq: row.seq, number: row.number };
      if (from && from.seq >= plainSeq) return from.task;
      const rows = plainTail.all(number, from?.seq ?? 0).flatMap((each) => unpackAfter(each, from?.seq));
      return fold(
        from,
        rows.filter(({ event }) => !isArtifactUpdate(event)),
      ).task;
    },
  };
}

function toStored(scope: number, { seq, number, head, artifacts }: TaskRow): StoredTask | undefined {
  if (seq === null || number === null || head === null) return undefined;
  return { scope, seq, number, binary: joinTask(head, artifacts) };
}

function toSnapshot({ binary, seq, number }: StoredTask): Snapshot {
  return { task: decodeTask(binary), seq, number };
}

function unpackAfter(row: EntryRow, after = 0): readonly Entry[] {
  const entries = unpackEntries(row);
  return row.seq - row.count >= after ? entries : entries.filter(({ seq }) => seq > after);
}

function fold(from: Snapshot | undefined, tail: readonly Entry[]): Snapshot {
  const last = tail.at(-1);
  if (from && !last) return from;
  const growing = createFold(from?.task);
  for (const { event } of tail) growing.apply(event.response);
  return {
    task: growing.task(),
    seq: last?.seq ?? 0,
    number: tail.findLast(({ event }) => event.number > 0)?.event.number ?? from?.number ?? 0,
  };
}
