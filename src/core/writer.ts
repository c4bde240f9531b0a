import { A2AError } from "../errors.js";
import type { Entry } from "../protocol/entry.js";
import { WireEvent } from "../protocol/event.js";
import type { StreamResponse, Task } from "../protocol/schema.js";
import { createFold, phaseOf } from "../protocol/task.js";
import type { MessageKey, Scope, Snapshot } from "../stores/task-store.js";
import { createDeferred, type Deferred } from "./async.js";
import type { Log } from "./log.js";

/** The one writer of one task's log while its run lasts. Entries become visible once they are durable. */
export interface TaskWriter {
  /**
   * Adds an entry. Returns at once while at most `ahead` entries wait for the store, and a promise that
   * resolves when there is room again beyond that. Throws after the writer failed.
   */
  append(response: StreamResponse): Promise<void> | undefined;
  /** Resolves when everything appended so far is durable; rejects when the store failed or another writer won. */
  durable(): Promise<void>;
  /** The task after everything appended so far. */
  task(): Task;
  /**
   * Resolves with the task as it was at its first interrupted or terminal status after `seq`, once that
   * status is durable.
   */
  settled(afterSeq: number): Promise<Task>;
  /** Position of the last appended entry. */
  readonly seq: number;
  /** Number of the last appended wire event. */
  readonly number: number;
  /** Why nothing more can be written. */
  readonly failure: A2AError | undefined;
}

export interface TaskWriterOptions {
  readonly log: Log;
  readonly scope: Scope;
  readonly taskId: string;
  /** Where the log stands; absent for a new task. */
  readonly from?: Snapshot;
  /** Recorded with the first commit. */
  readonly messageKey?: MessageKey;
  /** Entries that may wait for the store. Default 64. */
  readonly ahead?: number;
  /** Least length of a tail that is worth a snapshot without a state change. Default 256. */
  readonly snapshotTail?: number;
}

/** A durable status that someone may wait for. */
interface Settlement {
  readonly seq: number;
  readonly task: Task;
}

export function createTaskWriter(options: TaskWriterOptions): TaskWriter {
  const { log, scope, taskId, from, ahead = 64, snapshotTail = 256 } = options;
  const fold = createFold(from?.task);
  const settlements: Settlement[] = [];
  let lastSettlement: Settlement | undefined;
  const waiters: { readonly afterSeq: number; readonly deferred: Deferred<Task> }[] = [];
  let messageKey = options.messageKey;
  let seq = from?.seq ?? 0;
  let number = from?.number ?? 0;
  let durableSeq = seq;
  let queue: Entry[] = [];
  let stateChanged = false;
  let snapshotSeq = seq;
  let flushing: Promise<void> | undefined;
  let failure: A2AError | undefined;

  function append(response: StreamResponse): Promise<void> | undefined {
    if (failure !== undefined) throw failure;
    fold.apply(response);
    const onWire = response.payload.case !== "message";
    seq += 1;
    if (onWire) number += 1;
    queue.push({ seq, event: WireEvent.of(response, onWire ? number : 0) });
    if (response.payload.case === "task" || response.payload.case === "statusUpdate") noteStatus(response);
    flushing ??= flush();
    return seq - durableSeq > ahead ? flushing : undefined;
  }

  function noteStatus(response: StreamResponse): void {
    stateChanged = true;
    const { payload } = response;
    const state = payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
    if (state !== undefined && phaseOf(state) !== "open") settlements.push({ seq, task: fold.task() });
  }

  /** Writes what has gathered until nothing is left. Everything appended within a tick goes into one commit. */
  async function flush(): Promise<void> {
    await new Promise(setImmediate);
    try {
      while (queue.length > 0 && failure === undefined) await commitQueue();
    } catch (thrown) {
      fail(A2AError.from(thrown));
    } finally {
      flushing = undefined;
    }
  }

  async function commitQueue(): Promise<void> {
    const entries = queue;
    queue = [];
    const last = seq;
    const tail = last - snapshotSeq;
    const snapshot = stateChanged || tail >= Math.max(snapshotTail, snapshotSeq);
    stateChanged = false;
    const result = await log.commit(scope, taskId, {
      kind: "task",
      expectedSeq: durableSeq,
      entries,
      task: fold.task(),
      snapshot,
      ...(messageKey && { messageKey }),
    });
    if (result.kind === "conflict") throw new TaskConflict(result.on);
    messageKey = undefined;
    durableSeq = last;
    if (snapshot) snapshotSeq = last;
    settle();
  }

  function settle(): void {
    while (settlements[0] !== undefined && settlements[0].seq <= durableSeq) {
      lastSettlement = settlements.shift() as Settlement;
      const { seq: at, task } = lastSettlement;
      for (let i = waiters.length - 1; i >= 0; i -= 1) {
        const waiter = waiters[i];
        if (waiter === undefined || waiter.afterSeq >= at) continue;
        waiter.deferred.resolve(task);
        waiters.splice(i, 1);
      }
    }
  }

  function fail(error: A2AError): void {
    failure = error;
    queue = [];
    for (const waiter of waiters.splice(0)) waiter.deferred.reject(error);
    log.fail(scope, taskId, error);
  }

  return {
    append,
    async durable() {
      while (flushing !== undefined) await flushing;
      if (failure !== undefined) throw failure;
    },
    task: () => fold.task(),
    settled(afterSeq) {
      if (lastSettlement !== undefined && lastSettlement.seq > afterSeq)
        return Promise.resolve(lastSettlement.task);
      if (failure !== undefined) return Promise.reject(failure);
      const deferred = createDeferred<Task>();
      waiters.push({ afterSeq, deferred });
      return deferred.promise;
    },
    get seq() {
      return seq;
    },
    get number() {
      return number;
    },
    get failure() {
      return failure;
    },
  };
}

/** Another writer was first: with this task, or with this message id. */
export class TaskConflict extends A2AError {
  readonly on: "seq" | "message";

  constructor(on: "seq" | "message") {
    super("UNSUPPORTED_OPERATION", { text: "Task is already working." });
    this.on = on;
  }
}
