import { A2AError } from "../errors.js";
import type { Entry } from "../protocol/entry.js";
import { WireEvent } from "../protocol/event.js";
import type { StreamResponse, Task, TaskState } from "../protocol/schema.js";
import { createFold, phaseOf, type TaskFold } from "../protocol/task.js";
import type { MessageKey, Scope, Snapshot } from "../stores/task-store.js";
import { createDeferred, type Deferred } from "./async.js";
import type { Log } from "./log.js";

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

const NONE: readonly never[] = [];

/** Who has to stop when nothing more can be written. */
export interface WriterOwner {
  writerFailed(): void;
}

/** Entries that go into one commit; only the first may have a message key. */
interface Batch {
  readonly entries: Entry[];
  readonly messageKey: MessageKey | undefined;
  stateChanged: boolean;
  /** The task after these entries; unset while more may join them. */
  task: Task | undefined;
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

/**
 * The one writer of one task's log while its run lasts. Entries become visible once they are durable. A class, as
 * `Run` is, because every turn makes one.
 */
export class TaskWriter {
  readonly #log: Log;
  readonly #scope: Scope;
  readonly #taskId: string;
  readonly #ahead: number;
  readonly #snapshotTail: number;
  readonly #fold: TaskFold;
  readonly #startSeq: number;
  // Lists that are mostly empty: each would keep the room that it once needed, so they are made anew.
  #settlements: readonly Settlement[] = NONE;
  #lastSettlement: Settlement | undefined;
  #forStatus: readonly Waiter<Task>[] = NONE;
  #forRoom: readonly Waiter<void>[] = NONE;
  #batches: readonly Batch[] = NONE;
  #seq: number;
  #number: number;
  #durableSeq: number;
  #snapshotSeq: number;
  #flushing = false;
  #begun = false;
  #failure: A2AError | undefined;
  #owner: WriterOwner | undefined;

  constructor({ log, scope, taskId, from, ahead = 64, snapshotTail = 256 }: TaskWriterOptions) {
    this.#log = log;
    this.#scope = scope;
    this.#taskId = taskId;
    this.#ahead = ahead;
    this.#snapshotTail = snapshotTail;
    this.#fold = createFold(from?.task);
    this.#startSeq = this.#seq = this.#durableSeq = this.#snapshotSeq = from?.seq ?? 0;
    this.#number = from?.number ?? 0;
  }

  /** State of the task after everything appended so far. */
  get state(): TaskState {
    return this.#fold.state;
  }

  /** Position of the last appended entry. */
  get seq(): number {
    return this.#seq;
  }

  /** Position of the last durable entry. */
  get durableSeq(): number {
    return this.#durableSeq;
  }

  /** Why nothing more can be written. */
  get failure(): A2AError | undefined {
    return this.#failure;
  }

  /** The task after everything appended so far. */
  snapshot(): Snapshot {
    return { task: this.#fold.task(), seq: this.#seq, number: this.#number };
  }

  /**
   * Adds an entry, with the key of the message that it stems from. Returns at once while at most `ahead` entries
   * wait for the store, and beyond that a promise that settles when there is room again. Throws, and adds nothing,
   * when the entry cannot be encoded or the writer failed.
   */
  append(response: StreamResponse, messageKey?: MessageKey): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    const onWire = response.payload.case !== "message";
    const event = WireEvent.of(response, onWire ? this.#number + 1 : 0);
    void event.binary; // throws for what no store could keep, while the one who said it still hears of it
    const batch = this.#batchFor(messageKey);
    const before = this.#seq === 0 ? undefined : this.#fold.state;
    this.#fold.apply(response);
    this.#seq += 1;
    if (onWire) this.#number += 1;
    batch.entries.push({ seq: this.#seq, event });
    if (this.#fold.state !== before) batch.stateChanged = true;
    if (response.payload.case === "statusUpdate" && phaseOf(this.#fold.state) !== "open") {
      this.#settlements = this.#settlements.concat([{ seq: this.#seq, task: this.#fold.task() }]);
    }
    if (!this.#flushing) void this.#flush();
    const least = this.#seq - this.#ahead;
    return least > this.#durableSeq ? this.#reached(least) : undefined;
  }

  /** Resolves when everything appended so far is durable; rejects when the store failed or another writer won. */
  durable(): Promise<void> {
    return this.#reached(this.#seq);
  }

  /** The task after everything appended so far, once that is durable; rejects as `durable` does. */
  async durableSnapshot(): Promise<Snapshot> {
    const snapshot = this.snapshot();
    await this.durable();
    return snapshot;
  }

  /** The task as it was at the last interrupted or terminal status after `seq` that is durable. */
  settledTask(afterSeq: number): Task | undefined {
    const last = this.#lastSettlement;
    return last !== undefined && last.seq > afterSeq ? last.task : undefined;
  }

  /** Resolves with `settledTask` as soon as there is one. */
  settled(afterSeq: number): Promise<Task> {
    const task = this.settledTask(afterSeq);
    if (task !== undefined) return Promise.resolve(task);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const deferred = createDeferred<Task>();
    this.#forStatus = this.#forStatus.concat([{ seq: afterSeq, deferred }]);
    return deferred.promise;
  }

  /** Tells one owner, once, that nothing more can be written; never before the task that appends has ended. */
  belongTo(owner: WriterOwner): void {
    this.#owner = owner;
  }

  /** A message key opens a batch, since a commit has one. */
  #batchFor(messageKey: MessageKey | undefined): Batch {
    const open = this.#batches.at(-1);
    if (open !== undefined && messageKey === undefined) return open;
    if (open !== undefined) open.task = this.#fold.task();
    const batch: Batch = { entries: [], messageKey, stateChanged: false, task: undefined };
    this.#batches = this.#batches.concat([batch]);
    return batch;
  }

  /**
   * Writes what has gathered until nothing is left. Everything that an agent does without waiting goes into one commit.
   * Only the first comes before the next turn of the event loop: with a store that answers at once, an agent that
   * never waits would else leave no turn to anybody.
   */
  async #flush(): Promise<void> {
    this.#flushing = true;
    await new Promise<void>(this.#begun ? setImmediate : process.nextTick);
    this.#begun = true;
    try {
      for (let [batch] = this.#batches; batch !== undefined; [batch] = this.#batches) {
        this.#batches = this.#batches.length === 1 ? NONE : this.#batches.slice(1);
        await this.#commit(batch);
      }
    } catch (thrown) {
      this.#fail(A2AError.from(thrown));
    } finally {
      this.#flushing = false;
    }
  }

  async #commit({ entries, messageKey, stateChanged, task }: Batch): Promise<void> {
    const last = this.#durableSeq + entries.length;
    const due = stateChanged || last - this.#snapshotSeq >= Math.max(this.#snapshotTail, this.#snapshotSeq);
    const { contextId, status } = task ?? this.#fold;
    const result = await this.#log.commit(this.#scope, this.#taskId, {
      kind: "task",
      expectedSeq: this.#durableSeq,
      entries,
      contextId,
      status,
      ...(due && { snapshot: task ?? this.#fold.task() }),
      ...(messageKey && { messageKey }),
    });
    if (result.kind === "conflict")
      throw this.#durableSeq === this.#startSeq ? new TaskConflict(result.on) : gone(this.#taskId);
    this.#durableSeq = last;
    if (due) this.#snapshotSeq = last;
    this.#settle();
    this.#forRoom = released(this.#forRoom, ({ seq }) => seq <= last, undefined);
  }

  #settle(): void {
    for (;;) {
      const [settlement] = this.#settlements;
      if (settlement === undefined || settlement.seq > this.#durableSeq) return;
      this.#settlements = this.#settlements.length === 1 ? NONE : this.#settlements.slice(1);
      this.#lastSettlement = settlement;
      this.#forStatus = released(this.#forStatus, ({ seq }) => seq < settlement.seq, settlement.task);
    }
  }

  #reached(seq: number): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (seq <= this.#durableSeq) return Promise.resolve();
    const deferred = createDeferred<void>();
    this.#forRoom = this.#forRoom.concat([{ seq, deferred }]);
    return deferred.promise;
  }

  #fail(error: A2AError): void {
    this.#failure = error;
    const waiting = [...this.#forStatus, ...this.#forRoom];
    this.#batches = this.#forStatus = this.#forRoom = NONE;
    for (const { deferred } of waiting) deferred.reject(error);
    this.#owner?.writerFailed();
  }
}

/** Resolves those that are due; returns the others. */
function released<Result>(
  waiters: readonly Waiter<Result>[],
  isDue: (waiter: Waiter<Result>) => boolean,
  result: Result,
): readonly Waiter<Result>[] {
  if (waiters.length === 0) return waiters;
  const others = waiters.filter((waiter) => {
    if (!isDue(waiter)) return true;
    waiter.deferred.resolve(result);
    return false;
  });
  return others.length === 0 ? NONE : others;
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
