import type { CommitResult } from "../task-store.js";
import type { EncodedWrite } from "./encode.js";

/** Most writes in one transaction, so that a burst does not hold up everything else. */
const MAX_BATCH = 256;

interface Waiting {
  readonly write: EncodedWrite;
  resolve(result: CommitResult): void;
  reject(cause: unknown): void;
}

/** Gathers the writes of two turns of the event loop, of all tasks, into one transaction. */
export interface WriteQueue {
  /** Settles when the transaction that holds the write ended. */
  add(write: EncodedWrite): Promise<CommitResult>;
  /** Writes at once what waits, even when it is held back. */
  flush(): void;
  /** Lets writes wait from now on, or no longer. */
  hold(held: boolean): void;
  /** Resolves while writes are not held back: whoever writes beside the queue waits with them. */
  free(): Promise<void>;
}

/** `commitAll` runs one transaction: it returns a result for each write in order, or throws when nothing was written. */
export function createWriteQueue(
  commitAll: (writes: readonly EncodedWrite[]) => readonly CommitResult[],
): WriteQueue {
  let waiting: Waiting[] = [];
  let scheduled = false;
  let isHeld = false;
  const beside: (() => void)[] = [];

  function schedule(): void {
    if (scheduled || isHeld || waiting.length === 0) return;
    scheduled = true;
    setImmediate(() => setImmediate(run));
  }

  /** Not in the turn after the first write but in the next: what the calls write that come in meanwhile shares its pages. */
  function run(): void {
    scheduled = false;
    if (!isHeld) writeBatch();
    schedule();
  }

  function writeBatch(): void {
    const batch = waiting.slice(0, MAX_BATCH);
    waiting = waiting.slice(MAX_BATCH);
    if (batch.length > 0) settle(batch, commitAll);
  }

  return {
    add(write) {
      return new Promise((resolve, reject) => {
        waiting.push({ write, resolve, reject });
        schedule();
      });
    },
    flush() {
      while (waiting.length > 0) writeBatch();
    },
    hold(held) {
      isHeld = held;
      if (!held) for (const goOn of beside.splice(0)) goOn();
      schedule();
    },
    async free() {
      while (isHeld) await new Promise<void>((resolve) => beside.push(resolve));
    },
  };
}

/** One write that cannot be written takes its transaction back, so each is tried alone then: it fails its own caller only. */
function settle(
  batch: readonly Waiting[],
  commitAll: (writes: readonly EncodedWrite[]) => readonly CommitResult[],
): void {
  try {
    const results = commitAll(batch.map(({ write }) => write));
    batch.forEach(({ resolve }, index) => {
      resolve(results[index] as CommitResult);
    });
  } catch (thrown) {
    if (batch.length === 1) batch[0]?.reject(thrown);
    else for (const each of batch) settle([each], commitAll);
  }
}
