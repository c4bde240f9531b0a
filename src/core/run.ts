import { create, type JsonObject } from "@bufbuild/protobuf";
import { type AgentEntry, type Answer, type Outcome, type Progress, TurnStopped } from "../agents/agent.js";
import { A2AError } from "../errors.js";
import {
  type Message,
  type Part,
  PartSchema,
  type StreamResponse,
  type Task,
  TaskState,
} from "../protocol/schema.js";
import { phaseOf } from "../protocol/task.js";
import type { MessageKey, Scope, Snapshot } from "../stores/task-store.js";
import { createDeferred, type Deferred, within } from "./async.js";
import type { Inbox } from "./inbox.js";
import { outcomeEvent, progressEvent, type Stamp, statusUpdate, userMessage } from "./stamp.js";
import type { TaskWriter } from "./writer.js";

export interface RunOptions {
  /** Name of the task's log in the hub. */
  readonly key: string;
  readonly scope: Scope;
  readonly entry: AgentEntry;
  readonly stamp: Stamp;
  readonly writer: TaskWriter;
  readonly inbox: Inbox;
  /** Stops the agent, which has its signal. */
  readonly controller: AbortController;
  /** The agent's answer, or the promise of it when it takes its time. */
  readonly answer: Answer | Promise<Answer>;
  /** Told about what an agent threw. */
  onFault(fault: Fault): void;
  /** Told once, before `ended` resolves. */
  onEnd(run: Run): void;
}

/** Something an agent did wrong; for the log. */
export interface Fault {
  readonly tenant: string;
  readonly taskId: string;
  readonly errorId: string;
  readonly cause: unknown;
}

/**
 * The gateway executing one turn of one task. It lives until the agent is done, whoever is still listening. A class
 * because every turn makes one: as an object of functions it would take four times the memory.
 */
export class Run {
  readonly key: string;
  readonly scope: Scope;
  readonly entry: AgentEntry;
  readonly #stamp: Stamp;
  readonly #writer: TaskWriter;
  readonly #inbox: Inbox;
  readonly #controller: AbortController;
  readonly #onFault: RunOptions["onFault"];
  readonly #onEnd: RunOptions["onEnd"];
  readonly #openedSeq: number;
  #over = false;
  /** Of those who wait for the end: most runs have nobody who does. */
  #ended: Deferred<void> | undefined;
  #finalSeq: number | undefined;
  #closed = false;
  /** Why the agent was told to stop: what the signal says, which takes a microsecond to ask. */
  #stopped: TurnStopped | undefined;
  #work: AsyncGenerator<Progress, Outcome> | undefined;

  /** Starts working: what opens the turn has been appended to the writer already. */
  constructor(options: RunOptions) {
    const { writer, stamp } = options;
    this.key = options.key;
    this.scope = options.scope;
    this.entry = options.entry;
    this.#stamp = stamp;
    this.#writer = writer;
    this.#inbox = options.inbox;
    this.#controller = options.controller;
    this.#onFault = options.onFault;
    this.#onEnd = options.onEnd;
    this.#openedSeq = writer.seq;
    writer.belongTo(this);
    Promise.resolve(options.answer).then((answer) => this.#answered(answer), this.#threw);
  }

  get taskId(): string {
    return this.#stamp.taskId;
  }

  get contextId(): string {
    return this.#stamp.contextId;
  }

  get state(): TaskState {
    return this.#writer.state;
  }

  /** True once what opened the run is durable. */
  get begun(): boolean {
    return this.#writer.durableSeq >= this.#openedSeq;
  }

  /** Resolves when the last entry of the run is durable, or nothing more can be written. Never rejects. */
  get ended(): Promise<void> {
    if (this.#over) return Promise.resolve();
    this.#ended ??= createDeferred();
    return this.#ended.promise;
  }

  /** True once the last entry was written and only its commit is awaited. */
  get closing(): boolean {
    return this.#closed;
  }

  /** True for the status that ended this run, once it is known. */
  endsAt(seq: number): boolean {
    return seq === this.#finalSeq;
  }

  /** The task at its first interrupted or terminal status in this run, or after `afterSeq`, if that is durable. */
  settledTask(afterSeq = this.#openedSeq): Task | undefined {
    return this.#writer.settledTask(afterSeq);
  }

  /** Resolves with `settledTask` as soon as there is one. */
  settled(afterSeq = this.#openedSeq): Promise<Task> {
    return this.#writer.settled(afterSeq);
  }

  /** Gives a message to the running turn; resolves with the task that holds it, durable. Only while the task waits for authorisation. */
  async deliver(message: Message, messageKey?: MessageKey): Promise<Snapshot> {
    const writer = this.#writer;
    let snapshot!: Snapshot;
    await this.#inbox.push(message, () => {
      void writer.append(userMessage(this.#stamp, message), messageKey);
      snapshot = writer.snapshot();
      return writer.durable();
    });
    return snapshot;
  }

  /** Stops the agent and waits at most `graceMs` for it; then the task is CANCELED, and what the agent says later is dropped. */
  cancel(metadata: JsonObject, graceMs: number): Promise<void> {
    return this.#stop(new TurnStopped("cancel", metadata), graceMs);
  }

  /** Stops the agent because the gateway stops; after `graceMs` the task is FAILED, or left as it is for an agent that resumes. */
  shutdown(graceMs: number): Promise<void> {
    return this.#stop(new TurnStopped("shutdown"), graceMs);
  }

  /** Why nothing more can be recorded. */
  get failure(): A2AError | undefined {
    return this.#writer.failure;
  }

  #answered(answer: Answer): void {
    if (answer?.kind === "task") {
      this.#work = answer.work;
      this.#pull();
    } else this.#finishWith(() => this.#ifCancelled(this.#direct(answer)));
  }

  readonly #threw = (thrown: unknown): void => {
    this.#abandon();
    this.#finish(this.#endOfThrow(thrown));
  };

  /** A message that came when there was a task already completes it. */
  #direct(answer: Exclude<Answer, { kind: "task" }> | undefined): StreamResponse {
    if (answer?.kind === "message")
      return outcomeEvent(this.#stamp, this.state, { ...answer, state: TaskState.COMPLETED });
    throw new A2AError("INVALID_AGENT_RESPONSE", { text: "The agent gave no answer." });
  }

  /** Asks the agent what it reports next, until its turn ends or the run has ended without it. */
  readonly #pull = (): void => {
    if (this.#closed) {
      this.#abandon();
      return;
    }
    try {
      const next = this.#work?.next() as Promise<IteratorResult<Progress, Outcome>>;
      Promise.resolve(next).then(this.#reported, this.#threw); // an author's own generator may not give promises
    } catch (thrown) {
      this.#threw(thrown);
    }
  };

  readonly #reported = (step: IteratorResult<Progress, Outcome>): void => {
    this.#finishWith(() => this.#record(step));
  };

  /** Records progress and asks on; returns the last entry when the turn has ended. */
  #record(step: IteratorResult<Progress, Outcome>): StreamResponse | undefined {
    const stamp = this.#stamp;
    const writer = this.#writer;
    if (step.done) {
      this.#work = undefined; // it ended by itself
      return this.#ifCancelled(outcomeEvent(stamp, writer.state, step.value));
    }
    if (this.#closed) {
      this.#abandon();
      return undefined;
    }
    const room = writer.append(progressEvent(stamp, writer.state, step.value));
    if (room === undefined) this.#pull();
    else room.then(this.#pull, this.#threw);
    return undefined;
  }

  /** Ends the run with what `last` gives, if it gives something, or throws. */
  #finishWith(last: () => StreamResponse | undefined): void {
    let response: StreamResponse | undefined;
    try {
      response = last();
    } catch (thrown) {
      this.#threw(thrown);
      return;
    }
    if (response !== undefined) this.#finish(response);
  }

  /** The last entry of the run. What comes after it is dropped. */
  #finish(response: StreamResponse | undefined): void {
    if (this.#closed) return;
    const writer = this.#writer;
    this.#closed = true;
    this.#inbox.end();
    try {
      if (response !== undefined && writer.failure === undefined) {
        this.#finalSeq = writer.seq + 1;
        void writer.append(response);
      }
    } finally {
      void this.#end(); // also when the last entry cannot be written: others wait for the end
    }
  }

  async #end(): Promise<void> {
    try {
      await this.#writer.durable();
    } catch {
      // Whoever ends the run asks the writer why.
    }
    try {
      this.#onEnd(this);
    } finally {
      this.#over = true;
      this.#ended?.resolve();
    }
  }

  /** Lets an agent that nobody follows any more clean up after itself. */
  #abandon(): void {
    if (this.#work !== undefined) void closeWork(this.#work);
  }

  /** Nothing can be recorded any more: the agent is stopped, and the run ends without a word. */
  writerFailed(): void {
    if (this.#closed) return;
    this.#tell(new TurnStopped("lost"));
    this.#finish(undefined);
    this.#abandon();
  }

  /** A stopped agent usually throws its signal's reason; that is no fault of its own. */
  #endOfThrow(thrown: unknown): StreamResponse | undefined {
    if (this.failure !== undefined) return undefined;
    if (this.#stopped !== undefined) return this.#endOfStop(this.#stopped);
    return statusUpdate(this.#stamp, TaskState.FAILED, ...this.#report(thrown));
  }

  /** Reports a fault; returns parts and metadata of the FAILED status: an agent's own A2AError speaks for itself, anything else is hidden behind an id. */
  #report(thrown: unknown): [Part[], JsonObject?] {
    const { tenant } = this.scope;
    const { taskId } = this;
    const error = A2AError.from(thrown);
    const { errorId } = error;
    if (errorId === undefined) {
      this.#onFault({ tenant, taskId, errorId: "", cause: error });
      return [[textPart(error.message)]];
    }
    this.#onFault({ tenant, taskId, errorId, cause: error.cause });
    return [[textPart("The agent failed.")], { errorId }];
  }

  #endOfStop(reason: TurnStopped): StreamResponse | undefined {
    const stamp = this.#stamp;
    if (reason.why === "cancel") return statusUpdate(stamp, TaskState.CANCELED);
    if (this.entry.agent.resume !== undefined) return undefined;
    return statusUpdate(stamp, TaskState.FAILED, [
      textPart("The gateway was stopped while this task was running."),
    ]);
  }

  /** An agent that is told to stop and answers that it waits for input would keep the task alive. */
  #ifCancelled(response: StreamResponse): StreamResponse {
    if (this.#stopped?.why !== "cancel" || response.payload.case !== "statusUpdate") return response;
    const state = response.payload.value.status?.state ?? TaskState.UNSPECIFIED;
    return phaseOf(state) === "terminal" ? response : statusUpdate(this.#stamp, TaskState.CANCELED);
  }

  /** The first reason counts. */
  #tell(reason: TurnStopped): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = reason;
    this.#controller.abort(reason);
  }

  async #stop(reason: TurnStopped, graceMs: number): Promise<void> {
    this.#tell(reason);
    await within(this.ended, graceMs, undefined);
    if (!this.#closed) {
      this.#finish(this.#endOfStop(reason));
      this.#abandon();
    }
    await this.ended;
  }
}

/** Ends a generator early. One that is no generator after all has nothing to clean up. */
async function closeWork(work: AsyncGenerator<Progress, Outcome>): Promise<void> {
  try {
    await work.return({ state: TaskState.CANCELED });
  } catch {
    // How an agent ends that nobody follows any more is no news.
  }
}

/** A part of plain text. */
export function textPart(text: string): Part {
  return create(PartSchema, { content: { case: "text", value: text } });
}
