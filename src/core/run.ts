import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type AgentEntry,
  type Answer,
  type Outcome,
  type Progress,
  type Turn,
  TurnStopped,
} from "../agents/agent.js";
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
import { createDeferred, within } from "./async.js";
import type { Inbox } from "./inbox.js";
import { outcomeEvent, progressEvent, type Stamp, statusUpdate, userMessage } from "./stamp.js";
import type { TaskWriter } from "./writer.js";

/** The gateway executing one turn of one task. It lives until the agent is done, whoever is still listening. */
export interface Run {
  readonly scope: Scope;
  readonly taskId: string;
  readonly contextId: string;
  readonly entry: AgentEntry;
  /** The task when this run began, durable: what the first answer shows. */
  readonly opened: Promise<Snapshot>;
  /** The task at its first interrupted or terminal status in this run, or after `afterSeq`; durable. */
  settled(afterSeq?: number): Promise<Task>;
  /** Resolves when the last entry of the run is durable, or nothing more can be written. Never rejects. */
  readonly ended: Promise<void>;
  /** True for the status that ended this run, once it is known. */
  endsAt(seq: number): boolean;
  readonly state: TaskState;
  /** True once the last entry was written and only its commit is awaited. */
  readonly closing: boolean;
  /** Gives a message to the running turn; resolves with the task that holds it, durable. Only while the task waits for authorisation. */
  deliver(message: Message, messageKey?: MessageKey): Promise<Snapshot>;
  /** Stops the agent and waits at most `graceMs` for it; then the task is CANCELED, and what the agent says later is dropped. */
  cancel(metadata: JsonObject, graceMs: number): Promise<void>;
  /** Stops the agent because the gateway stops; after `graceMs` the task is FAILED, or left as it is for an agent that resumes. */
  shutdown(graceMs: number): Promise<void>;
}

export interface RunOptions {
  readonly scope: Scope;
  readonly entry: AgentEntry;
  readonly stamp: Stamp;
  readonly writer: TaskWriter;
  readonly turn: Turn;
  readonly inbox: Inbox;
  /** Stops the agent; the turn holds its signal. */
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

/** Starts working: what opens the turn has been appended to the writer already. */
export function createRun(options: RunOptions): Run {
  const { scope, entry, stamp, writer, turn, inbox, controller } = options;
  const opened = createDeferred<Snapshot>();
  const snapshotNow = (): Snapshot => ({ task: writer.task(), seq: writer.seq, number: writer.number });
  const openedAt = snapshotNow();
  const ended = createDeferred<void>();
  let finalSeq: number | undefined;
  let closed = false;
  let work: AsyncGenerator<Progress, Outcome> | undefined;

  /** The last entry of the run. What comes after it is dropped. */
  function finish(response: StreamResponse | undefined): void {
    if (closed) return;
    closed = true;
    inbox.end();
    if (response !== undefined && writer.failure === undefined) {
      finalSeq = writer.seq + 1;
      void writer.append(response);
    }
    void writer
      .durable()
      .catch(() => undefined)
      .then(() => options.onEnd(run))
      .finally(ended.resolve);
  }

  async function perform(): Promise<StreamResponse> {
    const answer = await options.answer;
    if (answer?.kind === "message")
      return outcomeEvent(stamp, writer.state, { ...answer, state: TaskState.COMPLETED });
    if (answer?.kind !== "task")
      throw new A2AError("INVALID_AGENT_RESPONSE", { text: "The agent gave no answer." });
    work = answer.work;
    try {
      return await follow(work);
    } finally {
      abandon(); // nothing to do for an agent that ended by itself
    }
  }

  /** Records what the agent reports until its turn ends, or the run has ended without it. */
  async function follow(reported: AsyncGenerator<Progress, Outcome>): Promise<StreamResponse> {
    while (!closed) {
      const step = await reported.next();
      if (step.done) return outcomeEvent(stamp, writer.state, step.value);
      if (!closed) await writer.append(progressEvent(stamp, writer.state, step.value));
    }
    return statusUpdate(stamp, TaskState.CANCELED);
  }

  /** Lets an agent that nobody follows any more clean up after itself. */
  function abandon(): void {
    void closeWork(work);
  }

  /** Nothing can be recorded any more: the agent is stopped, and the run ends without a word. */
  function lose(): void {
    if (closed) return;
    controller.abort(new TurnStopped("lost"));
    finish(undefined);
    abandon();
  }

  /** A stopped agent usually throws its signal's reason; that is no fault of its own. */
  function endOfThrow(thrown: unknown): StreamResponse | undefined {
    if (writer.failure !== undefined) return undefined;
    if (controller.signal.aborted) return endOfStop(controller.signal.reason as TurnStopped);
    return statusUpdate(stamp, TaskState.FAILED, ...failureParts(options, turn.taskId, thrown));
  }

  function endOfStop(reason: TurnStopped): StreamResponse | undefined {
    if (reason.why === "cancel") return statusUpdate(stamp, TaskState.CANCELED);
    if (entry.agent.resume !== undefined) return undefined;
    return statusUpdate(stamp, TaskState.FAILED, [
      textPart("The gateway was stopped while this task was running."),
    ]);
  }

  /** An agent that is told to stop and answers that it waits for input would keep the task alive. */
  function ifCancelled(response: StreamResponse): StreamResponse {
    const reason = controller.signal.aborted ? (controller.signal.reason as TurnStopped) : undefined;
    if (reason?.why !== "cancel" || response.payload.case !== "statusUpdate") return response;
    const state = response.payload.value.status?.state ?? TaskState.UNSPECIFIED;
    return phaseOf(state) === "terminal" ? response : statusUpdate(stamp, TaskState.CANCELED);
  }

  async function stop(reason: TurnStopped, graceMs: number): Promise<void> {
    if (!controller.signal.aborted) controller.abort(reason);
    await within(ended.promise, graceMs, undefined);
    if (!closed) {
      finish(endOfStop(reason));
      abandon();
    }
    await ended.promise;
  }

  const run: Run = {
    scope,
    taskId: turn.taskId,
    contextId: turn.contextId,
    entry,
    opened: opened.promise,
    ended: ended.promise,
    settled: (afterSeq = openedAt.seq) => writer.settled(afterSeq),
    endsAt: (seq) => seq === finalSeq,
    get state() {
      return writer.state;
    },
    get closing() {
      return closed;
    },
    async deliver(message, messageKey) {
      let snapshot = openedAt;
      await inbox.push(message, () => {
        void writer.append(userMessage(stamp, message), messageKey);
        snapshot = snapshotNow();
        return writer.durable();
      });
      return snapshot;
    },
    cancel: (metadata, graceMs) => stop(new TurnStopped("cancel", metadata), graceMs),
    shutdown: (graceMs) => stop(new TurnStopped("shutdown"), graceMs),
  };

  const openedDurable = writer.durable();
  openedDurable.then(() => opened.resolve(openedAt), opened.reject);
  void writer.failed.then(lose);
  void perform().then(ifCancelled).catch(endOfThrow).then(finish);
  return run;
}

/** Ends a generator early. One that is no generator after all has nothing to clean up. */
async function closeWork(work: AsyncGenerator<Progress, Outcome> | undefined): Promise<void> {
  try {
    await work?.return({ state: TaskState.CANCELED });
  } catch {
    // How an agent ends that nobody follows any more is no news.
  }
}

/** Parts and metadata of the FAILED status: an agent's own A2AError speaks for itself, anything else is hidden behind an id. */
function failureParts(options: RunOptions, taskId: string, thrown: unknown): [Part[], JsonObject?] {
  if (thrown instanceof A2AError && thrown.errorId === undefined) {
    options.onFault({ tenant: options.scope.tenant, taskId, errorId: "", cause: thrown });
    return [[textPart(thrown.message)]];
  }
  const { errorId = "", cause } = A2AError.from(thrown);
  options.onFault({ tenant: options.scope.tenant, taskId, errorId, cause });
  return [[textPart("The agent failed.")], { errorId }];
}

/** A part of plain text. */
export function textPart(text: string): Part {
  return create(PartSchema, { content: { case: "text", value: text } });
}
