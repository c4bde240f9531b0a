import type { Cursor } from "../protocol/cursor.js";
import type { Entry } from "../protocol/entry.js";
import type { Message, Task, TaskState, TaskStatus } from "../protocol/schema.js";

/** Whose tasks: another scope's tasks do not exist (specification 13.1). */
export interface Scope {
  /** Which agent; `""` is the default agent. */
  readonly tenant: string;
  /** Who created the task; `""` is everyone who did not authenticate. */
  readonly owner: string;
}

/** A key that makes a repeated send find its first answer. */
export interface MessageKey {
  readonly messageId: string;
  /** Digest of the message's content. */
  readonly digest: string;
}

/** Entries to append to one task's log. */
export interface TaskWrite {
  readonly kind: "task";
  /** `seq` of the last entry that the writer knows; 0 creates the task. Anything else than the store's own is a conflict. */
  readonly expectedSeq: number;
  /** At least one, with `seq` from `expectedSeq + 1`. */
  readonly entries: readonly Entry[];
  /** Context of the task. */
  readonly contextId: string;
  /** Status of the task after these entries. */
  readonly status: TaskStatus | undefined;
  /** The task after these entries, to be written as the snapshot; unset where reads may fold the tail from an older one. */
  readonly snapshot?: Task;
  /** Recorded with the task in the same transaction. A key that exists already is a conflict of kind `message`. */
  readonly messageKey?: MessageKey;
}

/** A direct answer without a task, remembered for repeated sends. */
export interface AnswerWrite {
  readonly kind: "answer";
  readonly messageKey: MessageKey;
  readonly answer: Message;
}

export type Write = TaskWrite | AnswerWrite;

export type CommitResult =
  | { readonly kind: "committed" }
  /** Someone else wrote first. `seq`: the task's log has moved on; `message`: the message id is taken. */
  | { readonly kind: "conflict"; readonly on: "seq" | "message" };

/** A task with the place in its log at which it is true. */
export interface Snapshot {
  readonly task: Task;
  readonly seq: number;
  /** Number of the last wire event up to `seq`. */
  readonly number: number;
}

/** Place in a list: the last task of the page before. */
export type ListCursor = Cursor;

export interface ListQuery {
  readonly contextId?: string;
  readonly state?: TaskState;
  /** Only tasks whose status time is at or after this, milliseconds since the epoch. */
  readonly statusAfterMs?: number;
  readonly pageSize: number;
  readonly after?: ListCursor;
  /** False: tasks come without artifacts, and the store need not read them. */
  readonly artifacts: boolean;
}

export interface ListPage {
  /** By status time, then id, both descending. */
  readonly tasks: readonly Task[];
  /** All tasks that match the filter, whatever the page. */
  readonly total: number;
  /** Where the next page begins; absent on the last page. */
  readonly next?: ListCursor;
}

/**
 * Where tasks live. What a caller handed to `commit` is never aborted; a failing store rejects with any error.
 * Tasks that come out of a store are the caller's to read, not to change.
 */
export interface TaskStore {
  /** Appends all of a write or nothing. A lost race is a value. Resolves when a crash of the process can no longer take it back. */
  commit(scope: Scope, taskId: string, write: Write): Promise<CommitResult>;
  /** The task with every entry folded in. */
  get(scope: Scope, taskId: string): Promise<Snapshot | undefined>;
  /** Entries with `seq > after`, in order, at most `limit`. Empty for an unknown task. */
  entries(scope: Scope, taskId: string, after: number, limit: number): Promise<readonly Entry[]>;
  list(scope: Scope, query: ListQuery): Promise<ListPage>;
}

/** What an earlier send with the same message id led to. */
export type MessageRecord =
  | { readonly kind: "task"; readonly digest: string; readonly taskId: string }
  | { readonly kind: "answer"; readonly digest: string; readonly answer: Message };

/** Finds tasks by other things than their id. */
export interface TaskLookup {
  byMessage(scope: Scope, messageId: string): Promise<MessageRecord | undefined>;
  /** Ids of the tasks of a context that wait for input or authorisation, at most `limit`. */
  waiting(scope: Scope, contextId: string, limit: number): Promise<readonly string[]>;
  /** Ids of the tasks of a context that are submitted or working, at most `limit`. */
  running(scope: Scope, contextId: string, limit: number): Promise<readonly string[]>;
}

export interface UnfinishedTask {
  readonly scope: Scope;
  readonly taskId: string;
}

/** What to forget. */
export interface ExpiryRule {
  /** Only this tenant; unset means all. */
  readonly tenant?: string;
  /** None of these tenants. */
  readonly exceptTenants?: readonly string[];
  /** Only tasks in one of these states. */
  readonly states: readonly TaskState[];
  /** Only tasks whose status time is before this, milliseconds since the epoch. */
  readonly beforeMs: number;
  /** At most so many in one go, so that a sweep never blocks for long. */
  readonly limit: number;
}

/** Housekeeping across all scopes: given to the gateway only. */
export interface TaskUpkeep {
  /** Tasks that are submitted or working, in a stable order, at most `limit`, after the given one. */
  unfinished(after: UnfinishedTask | undefined, limit: number): Promise<readonly UnfinishedTask[]>;
  /** Deletes matching tasks with their entries, keys and counters; returns how many. */
  expire(rule: ExpiryRule): Promise<number>;
  /** Deletes message keys recorded before the given time; returns how many. */
  expireKeys(beforeMs: number, limit: number): Promise<number>;
  /** Number of tasks by state, over all scopes. */
  countByState(): Promise<ReadonlyMap<TaskState, number>>;
}

/** What `createSqliteStore` and `createMemoryStore` return. */
export interface FullTaskStore extends TaskStore, TaskLookup, TaskUpkeep {
  /** 32 random bytes that last as long as the tasks do; page tokens are signed with them. */
  readonly secret: Uint8Array;
  /** Resolves when everything handed to `commit` before is settled and the store is let go. Later calls reject. */
  close(): Promise<void>;
}
