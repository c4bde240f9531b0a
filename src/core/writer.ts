import { A2AError } from "../errors.js";
import type { Entry } from "../protocol/entry.js";
import { WireEvent } from "../protocol/event.js";
import type { StreamResponse, Task, TaskState } from "../protocol/schema.js";
import { createFold, phaseOf } from "../protocol/task.js";
import type { MessageKey, Scope, Snapshot } from "../stores/task-store.js";
import { createDeferred, type Deferred } from "./async.js";
import type { Log } from "./log.js";

/** The one writer of one task's log while its run lasts. Entries become visible once they are durable. */
export interface TaskWriter {
  /**
   * Adds an entry, with the key of the message that it stems from. Returns at once while at most `ahead` entries
   * wait for the store, and beyond that a promise that settles when there is room again. Throws, and adds nothing,
   * when the entry cannot be encoded or the writer failed.
   */
  append(response: StreamResponse, messageKey?: MessageKey): Promise<void> | undefined;
  /** Resolves when everything appended so far is durable; rejects when the store failed or another writer won. */
  durable(): Promise<void>;
  /** The task after everything appended so far. */
  task(): Task;
  /**
   * Resolves with the task as it was at an interrupted or terminal status after `seq`, once that status is
   * durable: the first to come, or the last of those that there are already.
   */
  settled(afterSeq: number): Promise<Task>;
  /** State of the task after everything appended so far. */
  readonly state: TaskState;
  /** Position of the last appended entry. */
  readonly seq: number;
  /** Number of the last appended wire event. */
  readonly number: number;
  /** Why nothing more can be written. */
  readonly failure: A2AError | undefined;
  /** Resolves with `failure` when there is one. */
  readonly failed: Promise<A2AError>;
}

export interface TaskWriterOptions {
  readonly log: Log;
  readonly scope: Scope;
  readonly taskId: string;
  /** Where the log stands; absent for a new task. */
  readonly from?: Snapshot;
  /** Entries that may wait for the store. Default 64. */
  readonly ahead?: number;
  /** Least length of a tail that is worth a snapshot without a state change. Default 256. */
  readonly snapshotTail?: number;
}

/** Entries that go into one commit; only the first may have a message key. */
interface Batch {
  readonly entries: Entry[];
  readonly messageKey: MessageKey | undefined;
  stateChanged: boolean;
  /** The task after these entries; unset while more may join them. */
  task?: Task;
}

/** A durable status that someone may wait for. */
interface Settlement {
  readonly seq: number;
  readonly task: Task;
}

/** Someone who waits for the log to get so far. */
interface Waiter<Result> {
  readonly seq: number;
  readonly deferred: Deferred<Result>;
}

export function createTaskWriter(options: TaskWriterOptions): TaskWriter {
  const { log, scope, taskId, from, ahead = 64, snapshotTail = 256 } = options;
  const fold = createFold(from?.task);
  const failed = createDeferred<A2AError>();
  const settlements: Settlement[] = [];
  let lastSettlement: Settlement | undefined;
  let forStatus: Waiter<Task>[] = [];
  let forRoom: Waiter<void>[] = [];
  let batches: Batch[] = [];
  const startSeq = from?.seq ?? 0;
  let seq = startSeq;
  let number = from?.number ?? 0;
  let durableSeq = seq;
  let snapshotSeq = seq;
  let flushing = false;
  let failure: A2AError | undefined;

  function append(response: StreamResponse, messageKey?: MessageKey): Promise<void> | undefined {
    if (failure !== undefined) throw failure;
    const onWire = response.payload.case !== "message";
    const event = WireEvent.of(response, onWire ? number + 1 : 0);
    void event.binary; // throws for what no store could keep, while the one who said it still hears of it
    const batch = batchFor(messageKey);
    const before = seq === 0 ? undefined : fold.state;
    fold.apply(response);
    seq += 1;
    if (onWire) number += 1;
    batch.entries.push({ seq, event });
    if (fold.state !== before) batch.stateChanged = true;
    if (response.payload.case === "statusUpdate" && phaseOf(fold.state) !== "open") {
      settlements.push({ seq, task: fold.task() });
    }
    if (!flushing) void flush();
    return seq - durableSeq > ahead ? reached(seq - ahead) : undefined;
  }

  /** A message key opens a batch, since a commit has one. */
  function batchFor(messageKey: MessageKey | undefined): Batch {
    const open = batches.at(-1);
    if (open !== undefined && messageKey === undefined) return open;
    if (open !== undefined) open.task = fold.task();
    const batch: Batch = { entries: [], messageKey, stateChanged: false };
    batches.push(batch);
    return batch;
  }

  /** Writes what has gathered until nothing is left. Everything appended within a tick goes into one commit. */
  async function flush(): Promise<void> {
    flushing = true;
    await new Promise(setImmediate);
    try {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) await commit(batch);
    } catch (thrown) {
      fail(A2AError.from(thrown));
    } finally {
      flushing = false;
    }
  }

  async function commit({ entries, messageKey, stateChanged, task }: Batch): Promise<void> {
    const last = durableSeq + entries.length;
    const snapshot = stateChanged || last - snapshotSeq >= Math.max(snapshotTail, snapshotSeq);
    const result = await log.commit(scope, taskId, {
      kind: "task",
      expectedSeq: durableSeq,
      entries,
      task: task ?? fold.task(),
      snapshot,
      ...(messageKey && { messageKey }),
    });
    if (result.kind === "conflict")
      throw durableSeq === startSeq ? new TaskConflict(result.on) : gone(taskId);
    durableSeq = last;
    if (snapshot) snapshotSeq = last;
    settle();
    forRoom = released(forRoom, ({ seq: awaited }) => awaited <= durableSeq, undefined);
  }

  function settle(): void {
    while (settlements[0] !== undefined && settlements[0].seq <= durableSeq) {
      const settlement = settlements.shift() as Settlement;
      lastSettlement = settlement;
      forStatus = released(forStatus, ({ seq: after }) => after < settlement.seq, settlement.task);
    }
  }

  function reached(awaited: number): Promise<void> {
    if (failure !== undefined) return Promise.reject(failure);
    if (awaited <= durableSeq) return Promise.resolve();
    const deferred = createDeferred<void>();
    forRoom.push({ seq: awaited, deferred });
    return deferred.promise;
  }

  function fail(error: A2AError): void {
    failure = error;
    batches = [];
    for (const { deferred } of forStatus.splice(0)) deferred.reject(error);
    for (const { deferred } of forRoom.splice(0)) deferred.reject(error);
    failed.resolve(error);
  }

  return {
    append,
    durable: () => reached(seq),
    task: () => fold.task(),
    settled(afterSeq) {
      if (lastSettlement !== undefined && lastSettlement.seq > afterSeq)
        return Promise.resolve(lastSettlement.task);
      if (failure !== undefined) return Promise.reject(failure);
      const deferred = createDeferred<Task>();
      forStatus.push({ seq: afterSeq, deferred });
      return deferred.promise;
    },
    get state() {
      return fold.state;
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
    failed: failed.promise,
  };
}

/** Resolves those that are due; returns the others. */
function released<Result>(
  waiters: readonly Waiter<Result>[],
  isDue: (waiter: Waiter<Result>) => boolean,
  result: Result,
): Waiter<Result>[] {
  return waiters.filter((waiter) => {
    if (!isDue(waiter)) return true;
    waiter.deferred.resolve(result);
    return false;
  });
}

/** Whoever wrote before is the only writer, so the log can only have been deleted. */
function gone(taskId: string): A2AError {
  return new A2AError("TASK_NOT_FOUND", { metadata: { taskId } });
}

/** Another writer was first: with this task, or with this message id. */
export class TaskConflict extends A2AError {
  readonly on: "seq" | "message";

  constructor(on: "seq" | "message") {
    super("UNSUPPORTED_OPERATION", { text: "Task is already working." });
    this.on = on;
  }
}
