import type { DescMethod, Message, MessageShape } from "@bufbuild/protobuf";
import { A2AError } from "../errors.js";
import { abortable } from "../protocol/ending.js";
import { WireEvent } from "../protocol/event.js";
import { checkId } from "../protocol/ids.js";
import type {
  Message as A2AMessage,
  A2AService,
  AgentCard,
  SendMessageRequest,
  SendMessageResponse,
  Task,
} from "../protocol/schema.js";
import { phaseOf } from "../protocol/task.js";
import type { Snapshot, TaskLookup, TaskStore } from "../stores/task-store.js";
import type { Canceller } from "./cancel.js";
import type { CallContext } from "./context.js";
import { checkHistoryLength, type Lister, withHistory } from "./list.js";
import type { Log } from "./log.js";
import type { Run } from "./run.js";
import type { Sender } from "./send.js";
import { stateOf } from "./stamp.js";
import { type EventStream, eventsOf, formatEventId, type Subscriber, taskEvent } from "./subscribe.js";

/** What an agent's card must offer before an operation may run (specification 3.3.4). */
export type Capability = "streaming" | "pushNotifications" | "extendedAgentCard";

/** One of the eleven RPC methods. */
export type Operation<Method extends DescMethod = DescMethod> = { readonly needs?: Capability } & (
  | {
      readonly kind: "unary";
      run(
        context: CallContext,
        request: MessageShape<Method["input"]>,
      ): Promise<MessageShape<Method["output"]>>;
    }
  | {
      readonly kind: "stream";
      run(context: CallContext, request: MessageShape<Method["input"]>): Promise<EventStream>;
    }
);

/** The operations, by the local name of their method: the only place where a method is named. */
export type Operations = {
  readonly [Name in keyof typeof A2AService.method]: Operation<(typeof A2AService.method)[Name]>;
};

export interface OperationsOptions {
  readonly store: TaskStore & TaskLookup;
  readonly log: Log;
  readonly sender: Sender;
  readonly canceller: Canceller;
  readonly lister: Lister;
  readonly subscriber: Subscriber;
}

export function createOperations(options: OperationsOptions): Operations {
  const { store, log, sender, canceller, lister, subscriber } = options;

  async function sendMessage(
    context: CallContext,
    request: SendMessageRequest,
  ): Promise<SendMessageResponse> {
    checkConfiguration(request);
    const sent = await sender.send(context, request);
    if (sent.kind === "message") return messageResponse(sent.message);
    const length = request.configuration?.historyLength;
    if (sent.kind === "task") return taskResponse(sent.snapshot.task, length);
    if (request.configuration?.returnImmediately) return taskResponse(sent.opened.task, length);
    return taskResponse(await settledTask(sent.run, sent.opened, context), length);
  }

  async function sendStreamingMessage(
    context: CallContext,
    request: SendMessageRequest,
  ): Promise<EventStream> {
    checkConfiguration(request);
    const sent = await sender.send(context, request);
    if (sent.kind === "message") return { events: only(messageEvent(sent.message)) };
    const snapshot = sent.kind === "run" ? sent.opened : sent.snapshot;
    const { task, number } = snapshot;
    const first = taskEvent(withHistory(task, request.configuration?.historyLength), number);
    const events = sent.run ? runEvents(context, first, sent.run, snapshot) : only(first);
    return { events, firstId: formatEventId(task.id, number) };
  }

  /** The stream ends with the run: at a terminal status, or at an interrupted one that is the run's outcome. */
  function runEvents(
    context: CallContext,
    first: WireEvent,
    run: Run,
    from: Snapshot,
  ): AsyncIterable<WireEvent> {
    if (phaseOf(stateOf(from.task)) === "terminal" || run.endsAt(from.seq)) return only(first);
    const entries = log.read(run, from.seq, context.caller);
    return eventsOf([first], entries, { run });
  }

  return {
    sendMessage: { kind: "unary", run: sendMessage },
    sendStreamingMessage: { kind: "stream", needs: "streaming", run: sendStreamingMessage },
    getTask: {
      kind: "unary",
      async run(context, request) {
        checkId("id", request.id);
        checkHistoryLength(request.historyLength);
        const snapshot = await store.get(context.scope, request.id);
        if (snapshot === undefined)
          throw new A2AError("TASK_NOT_FOUND", { metadata: { taskId: request.id } });
        return withHistory(snapshot.task, request.historyLength);
      },
    },
    listTasks: { kind: "unary", run: lister.list },
    cancelTask: { kind: "unary", run: canceller.cancel },
    subscribeToTask: { kind: "stream", needs: "streaming", run: subscriber.subscribe },
    createTaskPushNotificationConfig: { kind: "unary", needs: "pushNotifications", run: refusePush },
    getTaskPushNotificationConfig: { kind: "unary", needs: "pushNotifications", run: refusePush },
    listTaskPushNotificationConfigs: { kind: "unary", needs: "pushNotifications", run: refusePush },
    deleteTaskPushNotificationConfig: { kind: "unary", needs: "pushNotifications", run: refusePush },
    getExtendedAgentCard: {
      kind: "unary",
      needs: "extendedAgentCard",
      run: async (context) => extendedCard(context),
    },
  };
}

/** Where a run ends without settling its task, the gateway is stopping: the task goes on after its restart. */
async function settledTask(run: Run, { seq }: Snapshot, context: CallContext): Promise<Task> {
  const task =
    run.settledTask(seq) ?? (await abortable(Promise.race([run.settled(seq), run.ended]), context.caller));
  if (task !== undefined) return task;
  throw new A2AError("UNAVAILABLE", { text: "The gateway is stopping; the task goes on later." });
}

function checkConfiguration(request: SendMessageRequest): void {
  const { configuration } = request;
  checkHistoryLength(configuration?.historyLength, "configuration.historyLength");
  if (configuration?.taskPushNotificationConfig) throw new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED");
}

function extendedCard(context: CallContext): AgentCard {
  const { entry, principal } = context;
  if (entry.extendedCard === undefined) throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED");
  if (principal.id === "" && !entry.extendedCardPublic) throw new A2AError("UNAUTHENTICATED");
  return entry.extendedCard;
}

async function refusePush(): Promise<never> {
  throw new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED");
}

function messageResponse(message: A2AMessage): SendMessageResponse {
  return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "message", value: message } };
}

function taskResponse(task: Task, historyLength: number | undefined): SendMessageResponse {
  const value = withHistory(task, historyLength);
  return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "task", value } };
}

function messageEvent(message: A2AMessage): WireEvent {
  return WireEvent.of({
    $typeName: "lf.a2a.v1.StreamResponse",
    payload: { case: "message", value: message },
  });
}

async function* only(event: WireEvent): AsyncGenerator<WireEvent, void> {
  yield event;
}

/** An operation whose request and answer are known by their descriptors only. */
export type AnyOperation = { readonly needs?: Capability } & (
  | { readonly kind: "unary"; run(context: CallContext, request: Message): Promise<Message> }
  | { readonly kind: "stream"; run(context: CallContext, request: Message): Promise<EventStream> }
);

/** The operation of a method, for callers that have only the descriptor. Undefined for another service's method. */
export function operationOf(operations: Operations, method: DescMethod): AnyOperation | undefined {
  return Object.hasOwn(operations, method.localName)
    ? (operations[method.localName as keyof Operations] as AnyOperation)
    : undefined;
}
