import { A2AError, invalidField, type Reason } from "../errors.js";
import { abortable } from "../protocol/ending.js";
import { checkId, checkMessageId } from "../protocol/ids.js";
import { Registry } from "../protocol/registry.js";
import { type Message, type SendMessageRequest, type Task, TaskState } from "../protocol/schema.js";
import { phaseOf } from "../protocol/task.js";
import type {
  MessageKey,
  MessageRecord,
  Scope,
  Snapshot,
  TaskLookup,
  TaskStore,
} from "../stores/task-store.js";
import type { CallContext } from "./context.js";
import { createLines } from "./line.js";
import { logKey } from "./log.js";
import { checkMediaTypes } from "./media-types.js";
import { messageKeyOf } from "./message-key.js";
import type { Run } from "./run.js";
import type { Runs, Started } from "./runs.js";
import { stateOf } from "./stamp.js";
import { TaskConflict } from "./writer.js";

/** Where a message went. */
export type Sent =
  | { readonly kind: "message"; readonly message: Message }
  /** A run works on it; what the caller waits for comes behind `opened` in the log. */
  | { readonly kind: "run"; readonly run: Run; readonly opened: Snapshot }
  /** A repeated message: its task as it is, and the run that still works on it. */
  | { readonly kind: "task"; readonly snapshot: Snapshot; readonly run?: Run };

export interface SenderOptions {
  readonly store: TaskStore & TaskLookup;
  readonly runs: Runs;
  /** Largest metadata of a message or request, bytes of JSON. Default 65 536. */
  readonly maxMetadataBytes?: number;
  /** Messages that may wait for one busy task. Default 64. */
  readonly maxQueued?: number;
}

/** Finds the task that a message belongs to and gives the message to its agent. */
export interface Sender {
  send(context: CallContext, request: SendMessageRequest): Promise<Sent>;
}

const BUSY = "Task is already working.";
/** How a call ends whose caller went away or ran out of time. */
const LEFT: ReadonlySet<Reason> = new Set<Reason>(["CANCELLED", "DEADLINE_EXCEEDED"]);

export function createSender(options: SenderOptions): Sender {
  const { store, runs, maxMetadataBytes = 65_536 } = options;
  const starting = new Registry<string, { readonly digest: string; readonly sent: Promise<Sent> }>();
  const lines = createLines(options.maxQueued);

  async function send(context: CallContext, request: SendMessageRequest): Promise<Sent> {
    const message = request.message as Message;
    checkMessage(message);
    checkMetadata("message.metadata", message.metadata, maxMetadataBytes);
    checkMetadata("metadata", request.metadata, maxMetadataBytes);
    if (!context.entry.policy.idempotency) return await deliver(context, request, undefined);
    return await once(context, request, messageKeyOf(context.scope, message));
  }

  /** Runs a message at most once: a repeated one joins the first, whether that is starting, running or done. */
  async function once(context: CallContext, request: SendMessageRequest, key: MessageKey): Promise<Sent> {
    const name = logKey(context.scope, key.messageId);
    const first = starting.get(name);
    if (first !== undefined) {
      return (await join(context, first, key)) ?? (await once(context, request, key));
    }
    const sent = remembered(context, request, key);
    starting.set(name, { digest: key.digest, sent });
    try {
      return await sent;
    } finally {
      starting.delete(name);
    }
  }

  /** Undefined when the first caller left before its message was started: then this one is the first. */
  async function join(
    context: CallContext,
    first: { readonly digest: string; readonly sent: Promise<Sent> },
    key: MessageKey,
  ): Promise<Sent | undefined> {
    checkDigest(first.digest, key);
    try {
      return await abortable(first.sent, context.caller);
    } catch (error) {
      if (error instanceof A2AError && LEFT.has(error.reason) && !context.caller.aborted) return undefined;
      throw error;
    }
  }

  async function remembered(
    context: CallContext,
    request: SendMessageRequest,
    key: MessageKey,
  ): Promise<Sent> {
    const record = await store.byMessage(context.scope, key.messageId);
    const repeated = record && (await repeat(context.scope, record, key));
    if (repeated !== undefined) return repeated;
    try {
      return await deliver(context, request, key);
    } catch (error) {
      if (!(error instanceof TaskConflict && error.on === "message")) throw error;
      const winner = await store.byMessage(context.scope, key.messageId);
      const sent = winner && (await repeat(context.scope, winner, key));
      if (sent === undefined) throw error;
      return sent;
    }
  }

  /** Undefined when the task was forgotten meanwhile. */
  async function repeat(scope: Scope, record: MessageRecord, key: MessageKey): Promise<Sent | undefined> {
    checkDigest(record.digest, key);
    if (record.kind === "answer") return { kind: "message", message: record.answer };
    const run = runs.find(scope, record.taskId);
    const snapshot = await store.get(scope, record.taskId);
    if (snapshot === undefined || run === undefined) return snapshot && { kind: "task", snapshot };
    if (phaseOf(stateOf(snapshot.task)) !== "open") return { kind: "task", snapshot, run };
    return { kind: "run", run, opened: snapshot };
  }

  async function deliver(
    context: CallContext,
    request: SendMessageRequest,
    key: MessageKey | undefined,
  ): Promise<Sent> {
    const { scope, entry } = context;
    const message = request.message as Message;
    checkMediaTypes(entry.card, message);
    let bound: string | undefined;
    let leave: (() => void) | undefined;
    try {
      for (;;) {
        const target =
          message.taskId || message.contextId ? await findTarget(context, message, bound) : undefined;
        const run = target && runs.find(scope, target.task.id);
        if (run?.closing === false && run.state === TaskState.AUTH_REQUIRED) {
          return await intoInbox(run, message, key);
        }
        const line = target && logKey(scope, target.task.id);
        if (line && !leave && entry.policy.busy === "queue" && (run || lines.has(line))) {
          bound = target.task.id;
          leave = await lines.enter(line, context.caller);
        } else if (run === undefined) {
          const sent = await start(context, request, key, target);
          if (sent !== undefined) return sent;
        } else if (run.closing || entry.policy.busy === "queue") {
          await abortable(run.ended, context.caller);
        } else throw new A2AError("UNSUPPORTED_OPERATION", { text: BUSY });
      }
    } finally {
      leave?.();
    }
  }

  /**
   * The task that the message names or, by its context alone, resumes; undefined for a new task. `bound`: the task
   * that a message with a context alone stands in line for.
   */
  async function findTarget(
    context: CallContext,
    message: Message,
    bound?: string,
  ): Promise<Snapshot | undefined> {
    const { scope, entry } = context;
    const id = message.taskId || bound || (await waitingIn(context, message.contextId));
    if (!id) {
      await refuseBusyContext(context, message.contextId);
      return undefined;
    }
    const snapshot = await readTask(scope, id);
    if (!message.taskId && (snapshot === undefined || isTerminal(snapshot))) {
      return await findTarget(context, message);
    }
    if (snapshot === undefined) throw new A2AError("TASK_NOT_FOUND", { metadata: { taskId: id } });
    checkContinuable(snapshot.task, message);
    if (phaseOf(stateOf(snapshot.task)) === "open" && runs.find(scope, id) === undefined) {
      throw new A2AError("UNSUPPORTED_OPERATION", { text: BUSY });
    }
    if (entry.policy.concurrency === "one" && runs.find(scope, id) === undefined) {
      await refuseBusyContext(context, snapshot.task.contextId);
    }
    return snapshot;
  }

  /** A run that ends while its task is read leaves an old picture; then it is read again. */
  async function readTask(scope: Scope, id: string): Promise<Snapshot | undefined> {
    const before = runs.find(scope, id);
    const snapshot = await store.get(scope, id);
    return before === undefined || runs.find(scope, id) === before ? snapshot : await store.get(scope, id);
  }

  async function waitingIn(context: CallContext, contextId: string): Promise<string | undefined> {
    if (!contextId || context.entry.policy.followUps === "new-task") return undefined;
    const ids = await store.waiting(context.scope, contextId, 2);
    return ids.length === 1 ? ids[0] : undefined;
  }

  async function refuseBusyContext(context: CallContext, contextId: string): Promise<void> {
    if (!contextId || context.entry.policy.concurrency === "many") return;
    const running = await store.running(context.scope, contextId, 1);
    if (running.length > 0) throw new A2AError("UNSUPPORTED_OPERATION", { text: BUSY });
  }

  /** Undefined when somebody else was faster with the waiting task. */
  async function start(
    context: CallContext,
    request: SendMessageRequest,
    messageKey: MessageKey | undefined,
    from: Snapshot | undefined,
  ): Promise<Sent | undefined> {
    const { scope, entry, principal, extensions } = context;
    const started: Started = await runs.start({
      scope,
      entry,
      principal,
      message: request.message as Message,
      acceptedOutputModes: request.configuration?.acceptedOutputModes ?? [],
      extensions,
      metadata: request.metadata ?? {},
      alone: entry.policy.concurrency === "one",
      ...(from && { from }),
      ...(messageKey && { messageKey }),
    });
    if (started.kind === "message") return started;
    try {
      return { kind: "run", run: started.run, opened: await started.opened };
    } catch (error) {
      if (from !== undefined && error instanceof TaskConflict && error.on === "seq") return undefined;
      throw error;
    }
  }

  /** The task waits for authorisation while its run goes on: the run is who must hear the message. */
  async function intoInbox(run: Run, message: Message, key: MessageKey | undefined): Promise<Sent> {
    const opened = await run.deliver(message, key);
    return { kind: "run", run, opened };
  }

  return { send };
}

function checkMessage(message: Message): void {
  checkMessageId("message.messageId", message.messageId);
  if (message.taskId) checkId("message.taskId", message.taskId);
  if (message.contextId) checkId("message.contextId", message.contextId);
  message.referenceTaskIds.forEach((id, index) => {
    checkId(`message.referenceTaskIds[${index}]`, id);
  });
}

function checkMetadata(field: string, metadata: object | undefined, maxBytes: number): void {
  if (metadata === undefined || Buffer.byteLength(JSON.stringify(metadata)) <= maxBytes) return;
  throw invalidField(field, `must be at most ${maxBytes} bytes of JSON`);
}

function checkContinuable(task: Task, message: Message): void {
  if (message.contextId && message.contextId !== task.contextId) {
    throw invalidField("message.contextId", "is not the context of the task");
  }
  if (isTerminal({ task })) {
    throw new A2AError("UNSUPPORTED_OPERATION", { text: "The task has ended and takes no more messages." });
  }
}

function isTerminal({ task }: Pick<Snapshot, "task">): boolean {
  return phaseOf(stateOf(task)) === "terminal";
}

function checkDigest(digest: string, key: MessageKey): void {
  if (digest !== key.digest) {
    throw invalidField("message.messageId", "was used before for a message with other content");
  }
}
