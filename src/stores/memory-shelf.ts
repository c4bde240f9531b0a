import { encodeBinary } from "../protocol/binary/index.js";
import { type Entry, entryFromBinary } from "../protocol/entry.js";
import { fromStored } from "../protocol/event.js";
import { MessageSchema, type Task, TaskState } from "../protocol/schema.js";
import { createFold, type TaskFold } from "../protocol/task.js";
import type {
  AnswerWrite,
  CommitResult,
  ListPage,
  ListQuery,
  MessageRecord,
  Scope,
  TaskWrite,
  Write,
} from "./task-store.js";
import { checkTaskWrite, statusMsOf } from "./write.js";

/** Everything of one scope in a memory store. */
export interface Shelf {
  readonly scope: Scope;
  readonly tasks: Map<string, StoredTask>;
  readonly records: Map<string, StoredRecord>;
}

/** A task in memory. */
export interface StoredTask {
  readonly id: string;
  readonly entries: Entry[];
  fold: TaskFold;
  contextId: string;
  state: TaskState;
  statusMs: number;
  /** Number of the last wire event. */
  number: number;
}

interface StoredRecord {
  readonly record: MessageRecord;
  readonly recordedMs: number;
}

/** Checks everything before it changes anything, so that a write is whole or not there. */
export function commit(shelf: Shelf, taskId: string, write: Write, nowMs: number): CommitResult {
  if (write.kind === "task") checkTaskWrite(write);
  if (write.messageKey && shelf.records.has(write.messageKey.messageId)) {
    return { kind: "conflict", on: "message" };
  }
  switch (write.kind) {
    case "answer":
      remember(shelf, write, nowMs);
      return { kind: "committed" };
    case "task":
      return append(shelf, taskId, write, nowMs);
  }
}

function remember(shelf: Shelf, { messageKey, answer }: AnswerWrite, recordedMs: number): void {
  const record: MessageRecord = {
    kind: "answer",
    digest: messageKey.digest,
    answer: fromStored(MessageSchema, encodeBinary(MessageSchema, answer)),
  };
  shelf.records.set(messageKey.messageId, { record, recordedMs });
}

function append(shelf: Shelf, taskId: string, write: TaskWrite, recordedMs: number): CommitResult {
  const known = shelf.tasks.get(taskId);
  if ((known?.entries.length ?? 0) !== write.expectedSeq) return { kind: "conflict", on: "seq" };
  // Copies by way of protobuf: what the writer does with its objects later is not seen here.
  const entries = write.entries.map(({ seq, event }) => entryFromBinary(seq, event.number, event.binary));
  const stored = known ?? emptyTask(taskId);
  grow(stored, entries);
  stored.entries.push(...entries);
  stored.contextId = write.contextId;
  stored.state = write.status?.state ?? TaskState.UNSPECIFIED;
  stored.statusMs = statusMsOf(write.status);
  stored.number = Math.max(stored.number, ...entries.map(({ event }) => event.number));
  shelf.tasks.set(taskId, stored);
  const { messageKey } = write;
  if (messageKey) {
    const record: MessageRecord = { kind: "task", digest: messageKey.digest, taskId };
    shelf.records.set(messageKey.messageId, { record, recordedMs });
  }
  return { kind: "committed" };
}

/** An entry that does not fold leaves the task as it was. */
function grow(stored: StoredTask, entries: readonly Entry[]): void {
  try {
    for (const { event } of entries) stored.fold.apply(event.response);
  } catch (thrown) {
    stored.fold = createFold();
    for (const { event } of stored.entries) stored.fold.apply(event.response);
    throw thrown;
  }
}

function emptyTask(id: string): StoredTask {
  const state = TaskState.UNSPECIFIED;
  return { id, entries: [], fold: createFold(), contextId: "", state, statusMs: 0, number: 0 };
}

/** The order of lists: by status time, then id, both descending. */
export function newestFirst(a: StoredTask, b: StoredTask): number {
  if (a.statusMs !== b.statusMs) return b.statusMs - a.statusMs;
  return a.id < b.id ? 1 : -1;
}

/** Ids of a context's tasks in one of the states, newest first. */
export function inStates(
  shelf: Shelf | undefined,
  contextId: string,
  states: readonly TaskState[],
  limit: number,
): readonly string[] {
  return [...(shelf?.tasks.values() ?? [])]
    .filter((task) => task.contextId === contextId && states.includes(task.state))
    .sort(newestFirst)
    .slice(0, limit)
    .map(({ id }) => id);
}

/** One page of a scope's tasks. */
export function list(shelf: Shelf | undefined, query: ListQuery): ListPage {
  const { contextId, state, statusAfterMs, pageSize, after, artifacts } = query;
  const matching = [...(shelf?.tasks.values() ?? [])]
    .filter((task) => contextId === undefined || task.contextId === contextId)
    .filter((task) => state === undefined || task.state === state)
    .filter((task) => statusAfterMs === undefined || task.statusMs >= statusAfterMs)
    .sort(newestFirst);
  const rest = matching.filter((task) => !after || isAfter(task, after));
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return {
    tasks: page.map(({ fold }) => (artifacts ? fold.task() : withoutArtifacts(fold.task()))),
    total: matching.length,
    ...(last && rest.length > page.length && { next: { statusMs: last.statusMs, id: last.id } }),
  };
}

function isAfter(task: StoredTask, place: { readonly statusMs: number; readonly id: string }): boolean {
  return task.statusMs < place.statusMs || (task.statusMs === place.statusMs && task.id < place.id);
}

function withoutArtifacts(task: Task): Task {
  return { ...task, artifacts: [] };
}
