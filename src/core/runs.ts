import type { JsonObject } from "@bufbuild/protobuf";
import { type AgentEntry, type Answer, type Principal, type Turn, TurnStopped } from "../agents/agent.js";
import { A2AError } from "../errors.js";
import { newId } from "../protocol/ids.js";
import { Registry, Roster } from "../protocol/registry.js";
import { type Message, Role, TaskState } from "../protocol/schema.js";
import type { MessageKey, Scope, Snapshot, TaskStore } from "../stores/task-store.js";
import { within } from "./async.js";
import { Inbox } from "./inbox.js";
import { type Log, logKey } from "./log.js";
import { createMender } from "./mend.js";
import { type Fault, Run } from "./run.js";
import { agentMessage, type Stamp, statusUpdate, submitted, userMessage } from "./stamp.js";
import { TaskConflict, TaskWriter } from "./writer.js";

/** One message to one agent, with everything that a turn needs to know. */
export interface TurnRequest {
  readonly scope: Scope;
  readonly entry: AgentEntry;
  readonly principal: Principal;
  readonly message: Message;
  readonly acceptedOutputModes: readonly string[];
  readonly extensions: readonly string[];
  readonly metadata: JsonObject;
  /** True: refused with UNSUPPORTED_OPERATION when another turn of the same context runs here. */
  readonly alone: boolean;
  /** The waiting task that the message continues. */
  readonly from?: Snapshot;
  /** Remembered with the answer, so that a repeated send finds it. */
  readonly messageKey?: MessageKey;
}

/** What a turn led to. */
export type Started =
  | { readonly kind: "message"; readonly message: Message }
  /** `opened`: the task when the run began, once it is durable: what the first answer shows. */
  | { readonly kind: "run"; readonly run: Run; readonly opened: Promise<Snapshot> };

/** All runs of this process. */
export interface Runs {
  /**
   * Gives a message to an agent. Resolves when it is known whether the answer is a message or a task, at the
   * latest after `answerGraceMs`. Rejects with what the agent threw before there was a task, with
   * INVALID_AGENT_RESPONSE when its answer is malformed, and with UNAVAILABLE while the gateway stops.
   */
  start(request: TurnRequest): Promise<Started>;
  find(scope: Scope, taskId: string): Run | undefined;
  /** Takes up, or fails, the tasks that a former process left unfinished. */
  recover(scope: Scope, snapshot: Snapshot, entry: AgentEntry | undefined): Promise<void>;
  /** Stops all agents and records how their tasks ended. */
  shutdown(graceMs: number): Promise<void>;
  list(): readonly Run[];
}

export interface RunsOptions {
  readonly store: TaskStore;
  readonly log: Log;
  /** How long an agent may take to answer before it becomes a task. Default 1000. */
  readonly answerGraceMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  onFault(fault: Fault): void;
}

const RESTARTED = "The gateway was restarted while this task was running.";
export function createRuns(options: RunsOptions): Runs {
  const { store, log, answerGraceMs = 1000, now = Date.now } = options;
  const runs = new Registry<string, Run>();
  const contexts = new Map<string, number>();
  const pending = new Roster<AbortController>();
  const mender = createMender({ store, log, now });
  let stopping = false;

  /** A log that fails must not keep a run from ending. */
  function onFault(fault: Fault): void {
    try {
      options.onFault(fault);
    } catch {
      // There is nowhere left to say it.
    }
  }

  function enterContext(key: string): void {
    contexts.set(key, (contexts.get(key) ?? 0) + 1);
  }

  function checkAlone(request: TurnRequest, key: string): void {
    if (request.alone && contexts.has(key)) {
      throw new A2AError("UNSUPPORTED_OPERATION", { text: "Task is already working." });
    }
  }

  function leaveContext(key: string): void {
    const left = (contexts.get(key) ?? 1) - 1;
    if (left > 0) contexts.set(key, left);
    else contexts.delete(key);
  }

  function prepare(request: TurnRequest) {
    const { message, from, scope } = request;
    const stamp: Stamp = {
      taskId: from?.task.id ?? newId(),
      contextId: from?.task.contextId ?? (message.contextId || newId()),
      now,
    };
    const inbox = new Inbox();
    const turn: Turn = {
      message: { ...message, taskId: stamp.taskId, contextId: stamp.contextId },
      ...(from && { task: from.task }),
      taskId: stamp.taskId,
      contextId: stamp.contextId,
      inbox,
      acceptedOutputModes: request.acceptedOutputModes,
      extensions: request.extensions,
      principal: request.principal,
      metadata: request.metadata,
    };
    const context = logKey(scope, stamp.contextId);
    return { request, scope, stamp, context, inbox, turn, controller: new AbortController() };
  }

  type Prepared = ReturnType<typeof prepare>;

  /** Registers the run of a turn whose opening entries were appended. */
  function launch(prepared: Prepared, writer: TaskWriter, answer: Answer | Promise<Answer>): Started {
    const { request, scope, stamp, context, inbox, controller } = prepared;
    const key = logKey(scope, stamp.taskId);
    const run = new Run({
      key,
      scope,
      entry: request.entry,
      stamp,
      writer,
      inbox,
      controller,
      answer,
      onFault,
      onEnd,
    });
    enterContext(context);
    runs.set(key, run);
    return { kind: "run", run, opened: writer.durableSnapshot() };
  }

  function onEnd(run: Run): void {
    runs.delete(run.key);
    leaveContext(logKey(run.scope, run.contextId));
    if (run.failure !== undefined) lose(run, run.failure);
  }

  /** A run whose log another writer has, or nobody any more, is over; one that the store let down is mended. */
  function lose({ scope, taskId, begun }: Run, failure: A2AError): void {
    if (failure instanceof TaskConflict) return;
    if (begun) log.fail(scope, taskId, failure);
    if (failure.reason === "TASK_NOT_FOUND") return;
    onFault({ tenant: scope.tenant, taskId, errorId: failure.errorId ?? "", cause: failure });
    if (begun) void mender.mend(scope, taskId);
  }

  async function startNew(request: TurnRequest): Promise<Started> {
    const prepared = prepare(request);
    const { context } = prepared;
    checkAlone(request, context);
    const place = pending.add(prepared.controller);
    enterContext(context);
    try {
      const answer = ask(request.entry, "answer", prepared.turn, prepared.controller.signal);
      const early = await within(answer, answerGraceMs, undefined);
      if (early?.kind === "message") return await directAnswer(prepared, early);
      if (stopping) throw gatewayStopping();
      return open(prepared, early ?? answer);
    } catch (error) {
      throw stopping && prepared.controller.signal.aborted ? gatewayStopping() : error;
    } finally {
      pending.remove(place);
      leaveContext(context);
    }
  }

  function open(prepared: Prepared, answer: Answer | Promise<Answer>): Started {
    const { request, scope, stamp } = prepared;
    const { messageKey } = request;
    const writer = new TaskWriter({ log, scope, taskId: stamp.taskId });
    const metadata = answer instanceof Promise || answer.kind !== "task" ? undefined : answer.metadata;
    void writer.append(submitted(stamp, request.message, metadata), messageKey);
    return launch(prepared, writer, answer);
  }

  async function directAnswer(
    prepared: Prepared,
    answer: Extract<Answer, { kind: "message" }>,
  ): Promise<Started> {
    const { request, scope, stamp } = prepared;
    const message = agentMessage({ contextId: stamp.contextId }, answer.parts, answer.metadata);
    const { messageKey } = request;
    if (messageKey !== undefined) {
      const result = await store.commit(scope, stamp.taskId, { kind: "answer", messageKey, answer: message });
      if (result.kind === "conflict") throw new TaskConflict(result.on);
    }
    return { kind: "message", message };
  }

  /** The message and WORKING claim the task: the agent is asked once nobody else can have it. */
  async function resume(request: TurnRequest, from: Snapshot): Promise<Started> {
    const prepared = prepare(request);
    const { scope, stamp, context, turn, controller } = prepared;
    checkAlone(request, context);
    const writer = new TaskWriter({ log, scope, taskId: stamp.taskId, from });
    void writer.append(userMessage(stamp, request.message), request.messageKey);
    void writer.append(statusUpdate(stamp, TaskState.WORKING));
    const answer = writer.durable().then(() => ask(request.entry, "answer", turn, controller.signal));
    return launch(prepared, writer, answer);
  }

  return {
    async start(request) {
      if (stopping) throw gatewayStopping();
      return request.from ? await resume(request, request.from) : await startNew(request);
    },
    find: (scope, taskId) => runs.get(logKey(scope, taskId)),
    async recover(scope, snapshot, entry) {
      const message = snapshot.task.history.findLast(({ role }) => role === Role.USER);
      if (entry?.agent.resume === undefined || message === undefined) {
        return await mender.fail(scope, snapshot, RESTARTED);
      }
      const request = {
        scope,
        entry,
        principal: { id: scope.owner },
        message,
        acceptedOutputModes: [],
        extensions: [],
        metadata: {},
        alone: false,
        from: snapshot,
      };
      const prepared = prepare(request);
      const writer = new TaskWriter({ log, scope, taskId: prepared.stamp.taskId, from: snapshot });
      launch(prepared, writer, ask(entry, "resume", prepared.turn, prepared.controller.signal));
    },
    async shutdown(graceMs) {
      stopping = true;
      mender.stop();
      for (const controller of pending.members()) controller.abort(new TurnStopped("shutdown"));
      await Promise.all(runs.values().map((run) => run.shutdown(graceMs)));
    },
    list: () => runs.values(),
  };
}

function gatewayStopping(): A2AError {
  return new A2AError("UNAVAILABLE", { text: "The gateway is stopping." });
}

/** A synchronous throw is a rejection like any other; an answer of an unknown kind is refused before a task exists. */
async function ask(
  { agent }: AgentEntry,
  how: "answer" | "resume",
  turn: Turn,
  signal: AbortSignal,
): Promise<Answer> {
  const given = await agent[how]?.(turn, signal);
  if (given?.kind === "message" || given?.kind === "task") return given;
  throw new A2AError("INVALID_AGENT_RESPONSE", { text: "The agent gave no answer." });
}
