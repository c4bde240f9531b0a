import { A2AError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import { endReason } from "../protocol/ending.js";
import type { Entry } from "../protocol/entry.js";
import type { CommitResult, Scope, TaskStore, TaskWrite } from "../stores/task-store.js";

/** The logs of all tasks: durable first, then visible. */
export interface Log {
  /** Commits, then wakes the readers. Rejects when the store fails; a lost race is a value. */
  commit(scope: Scope, taskId: string, write: TaskWrite): Promise<CommitResult>;
  /**
   * Entries with `seq > after`, in order, without gap or repeat, for ever: the caller stops at the entry it
   * waits for. Rejects when the signal aborts (with its A2AError, else CANCELLED), when `fail` is called for
   * the task, with TASK_NOT_FOUND when the task is gone, and with RESOURCE_EXHAUSTED when the writer has gone
   * more than `maxLag` entries further since the reader came and the reader is that far behind.
   */
  read(scope: Scope, taskId: string, after: number, signal: AbortSignal): AsyncIterable<Entry>;
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

/** Entries read from the store at once: each slow reader holds its own. */
const PAGE = 64;
/** Readers that look into the store at once; others get their turn in between. */
const RECHECKED_AT_ONCE = 64;

/** What a reader has heard and not read yet. */
interface Tail {
  wake(entries?: readonly Entry[]): void;
  /** Live entries since the last call; undefined: entries were missed, look into the store. */
  take(): readonly Entry[] | undefined;
  /** Resolves when there is something to take. */
  changed(signal: AbortSignal): Promise<void>;
  fail(error: A2AError): void;
  /** How far a reader is behind that has read up to `seen`, in entries that came since it is here. */
  lag(seen: number): number;
}

function createTail(limit: number): Tail {
  let buffer: Entry[] = [];
  let missed = true; // nothing is known before the first look into the store
  let failure: A2AError | undefined;
  let heardFirst = 0;
  let heardLast = 0;
  let stir: (() => void) | undefined;

  function notify(): void {
    stir?.();
    stir = undefined;
  }

  return {
    lag: (seen) => heardLast - Math.max(seen, heardFirst - 1),
    wake(entries) {
      heardFirst ||= entries?.[0]?.seq ?? 0;
      heardLast = Math.max(heardLast, entries?.at(-1)?.seq ?? 0);
      if (missed) return notify();
      if (entries === undefined || buffer.length + entries.length > limit) {
        buffer = [];
        missed = true;
      } else {
        for (const entry of entries) buffer.push(entry);
      }
      notify();
    },
    take() {
      if (failure !== undefined) throw failure;
      if (missed) {
        missed = false;
        return undefined;
      }
      const taken = buffer;
      buffer = [];
      return taken;
    },
    async changed(signal) {
      if (buffer.length > 0 || missed || failure !== undefined) return;
      if (signal.aborted) throw endReason(signal);
      await new Promise<void>((resolve, reject) => {
        const leave = () => reject(endReason(signal));
        signal.addEventListener("abort", leave, { once: true });
        stir = () => {
          signal.removeEventListener("abort", leave);
          resolve();
        };
      });
    },
    fail(error) {
      failure = error;
      notify();
    },
  };
}

export function createLog(options: LogOptions): Log {
  const { store, hub, bufferEntries = 256, maxLag = 100_000 } = options;
  const tails = new Map<string, Set<Tail>>();
  let readers = 0;

  function enter(key: string, tail: Tail): void {
    const set = tails.get(key) ?? new Set();
    tails.set(key, set.add(tail));
    readers += 1;
  }

  function leave(key: string, tail: Tail): void {
    const set = tails.get(key);
    set?.delete(tail);
    if (set?.size === 0) tails.delete(key);
    readers -= 1;
  }

  /** Entries from the store until it has no more. The one before them is read too: without it, the task is gone. */
  async function* stored(scope: Scope, taskId: string, after: number): AsyncGenerator<Entry, void> {
    let seen = Math.max(after - 1, 0);
    for (;;) {
      const page = await store.entries(scope, taskId, seen, PAGE);
      if (page.length === 0 && seen < after) throw new A2AError("TASK_NOT_FOUND", { metadata: { taskId } });
      yield* page;
      seen = page.at(-1)?.seq ?? seen;
      if (page.length < PAGE) return;
    }
  }

  async function* read(
    scope: Scope,
    taskId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<Entry, void> {
    const key = logKey(scope, taskId);
    const tail = createTail(bufferEntries);
    enter(key, tail);
    let unsubscribe: (() => void) | undefined;
    try {
      unsubscribe = await hub.subscribe(key, tail.wake);
      let seen = after;
      for (;;) {
        const live = tail.take();
        for await (const entry of live ?? stored(scope, taskId, seen)) {
          if (entry.seq <= seen) continue;
          if (tail.lag(seen) > maxLag) throw tooSlow();
          yield entry;
          seen = entry.seq;
        }
        await tail.changed(signal);
        if (signal.aborted) throw endReason(signal);
      }
    } finally {
      unsubscribe?.();
      leave(key, tail);
    }
  }

  return {
    async commit(scope, taskId, write) {
      const result = await store.commit(scope, taskId, write);
      if (result.kind === "committed") hub.publish(logKey(scope, taskId), write.entries);
      return result;
    },
    read,
    fail(scope, taskId, error) {
      for (const tail of tails.get(logKey(scope, taskId)) ?? []) tail.fail(error);
    },
    async recheck() {
      let told = 0;
      for (const tail of [...tails.values()].flatMap((set) => [...set])) {
        tail.wake();
        told += 1;
        if (told % RECHECKED_AT_ONCE === 0) await new Promise(setImmediate);
      }
    },
    readerCount: () => readers,
  };
}

function tooSlow(): A2AError {
  return new A2AError("RESOURCE_EXHAUSTED", { text: "The stream was read too slowly. Subscribe again." });
}
