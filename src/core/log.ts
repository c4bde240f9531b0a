import type { A2AError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import type { AbortState } from "../protocol/ending.js";
import type { Entry } from "../protocol/entry.js";
import { Groups } from "../protocol/registry.js";
import type { CommitResult, Scope, TaskStore, TaskWrite } from "../stores/task-store.js";
import { type LogName, LogReader, type LogSource } from "./log-reader.js";

/** The logs of all tasks: durable first, then visible. */
export interface Log {
  /** Commits, then wakes the readers. Rejects when the store fails; a lost race is a value. */
  commit(scope: Scope, taskId: string, write: TaskWrite): Promise<CommitResult>;
  /**
   * Entries with `seq > after`, in order, without gap or repeat, for ever: the caller stops at the entry it
   * waits for. Rejects when the call is aborted (with its A2AError, else CANCELLED), when `fail` is called for
   * the task, with TASK_NOT_FOUND when the task is gone, and with RESOURCE_EXHAUSTED when the writer has gone
   * more than `maxLag` entries further since the reader came and the reader is that far behind.
   */
  read(log: LogName, after: number, caller: AbortState): LogReader;
  /** Ends the task's readers here with an error: its writer can write no more. */
  fail(scope: Scope, taskId: string, error: A2AError): void;
  /** Makes all readers look into the store again: tasks were deleted. Resolves when every reader was told. */
  recheck(): Promise<void>;
  /** Readers that are open now. */
  readerCount(): number;
}

export interface LogOptions {
  readonly store: TaskStore;
  readonly hub: Hub;
  /** Entries a slow reader keeps in memory before it turns to the store. Default 256. */
  readonly bufferEntries?: number;
  /** Entries a reader may be behind before its stream ends. Default 100 000. */
  readonly maxLag?: number;
}

/** Name of a task's log in the hub. */
export function logKey(scope: Scope, taskId: string): string {
  return `${scope.tenant}\0${scope.owner}\0${taskId}`;
}

/** A task's log. A run is one, too. */
export function logOf(scope: Scope, taskId: string): LogName {
  return { scope, taskId, key: logKey(scope, taskId) };
}

/** Readers that look into the store at once; others get their turn in between. */
const RECHECKED_AT_ONCE = 64;

export function createLog(options: LogOptions): Log {
  const { store, hub, bufferEntries = 256, maxLag = 100_000 } = options;
  const readers = new Groups<LogReader>();
  /** The last commit of each log in this turn of the event loop: who comes for it now need not look into the store. */
  let recent = new Map<string, readonly Entry[]>();

  const source: LogSource = {
    store,
    hub,
    bufferEntries,
    maxLag,
    recent: (key) => recent.get(key) ?? [],
    readers,
  };

  /** A new map rather than `clear`, for the reason that registries are for. */
  function forget(): void {
    recent = new Map();
  }

  function remember(key: string, entries: readonly Entry[]): void {
    if (recent.size === 0) setImmediate(forget);
    recent.set(key, entries);
  }

  return {
    async commit(scope, taskId, write) {
      const result = await store.commit(scope, taskId, write);
      if (result.kind === "committed") {
        const key = logKey(scope, taskId);
        remember(key, write.entries);
        hub.publish(key, write.entries);
      }
      return result;
    },
    read: (log, after, caller) => new LogReader(source, log, after, caller),
    fail(scope, taskId, error) {
      for (const reader of readers.of(logKey(scope, taskId))) reader.fail(error);
    },
    async recheck() {
      forget();
      let told = 0;
      for (const reader of readers.members()) {
        reader.wake();
        told += 1;
        if (told % RECHECKED_AT_ONCE === 0) await new Promise(setImmediate);
      }
    },
    readerCount: () => readers.size,
  };
}
