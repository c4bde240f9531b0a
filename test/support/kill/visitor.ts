import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Random } from "../random.js";
import type { Answer, AskOptions, WireClient, WireStream } from "../wires/index.js";
import {
  type EventJson,
  isOpen,
  isTerminal,
  type KnownTask,
  type Ledger,
  messageJson,
  type TaskJson,
} from "./ledger.js";

/** A stream that the crash cut off: up to which event of which task its client got. */
export interface CutStream {
  readonly tenant: string;
  readonly taskId: string;
  readonly number: number;
}

/** A send that the crash left without an answer. */
export interface OpenSend {
  readonly tenant: string;
  readonly message: JsonObject;
}

/** What a client's life left behind. */
export interface Estate {
  readonly cut: readonly CutStream[];
  readonly open: readonly OpenSend[];
  /** Answers that were messages, by the request that they answer. */
  readonly heard: readonly { readonly send: OpenSend; readonly messageId: string }[];
}

export interface VisitorOptions {
  readonly client: WireClient;
  readonly ledger: Ledger;
  readonly random: Random;
  /** Begins every id that this client makes. */
  readonly name: string;
  /** Aborts when the gateway is killed. */
  readonly killed: AbortSignal;
  /** Told after each thing that was done. */
  readonly onAct: () => void;
}

/** The gateway is gone; nothing that happens now is a fault. */
class Gone extends Error {}

/** What may be refused in a race that a client has with its own tasks. */
const REFUSALS = new Set(["UNSUPPORTED_OPERATION", "TASK_NOT_CANCELABLE"]);
const TENANTS = ["", "lasting"] as const;

/** Lives as a client of a gateway, doing one thing after the other with tasks of its own, until the gateway is killed. */
export async function visit(options: VisitorOptions): Promise<Estate> {
  const { client, ledger, random, name, killed } = options;
  const cut: CutStream[] = [];
  const open: OpenSend[] = [];
  const heard: { send: OpenSend; messageId: string }[] = [];
  const own: KnownTask[] = [];
  let made = 0;

  /** Settles as `work`; a failure after the kill, or no end soon after it, is no news or a fault. */
  async function untilGone<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (killed.aborted) throw new Gone();
      throw error;
    }
  }

  async function ask(method: string, request: JsonObject): Promise<Answer> {
    const answer = await untilGone(client.call(method, request));
    if (answer.kind === "ok" || REFUSALS.has(answer.error.reason ?? "")) return answer;
    if (killed.aborted) throw new Gone();
    throw new Error(`${method} over ${name}: ${JSON.stringify(answer.error)}`);
  }

  function newMessage(text: string, more: JsonObject = {}): JsonObject {
    made += 1;
    return messageJson(`${name}-${made}`, text, { contextId: `c-${name}-${made}`, ...more });
  }

  function accept(task: KnownTask, message: JsonObject): void {
    const id = message.messageId as string;
    if (!task.accepted.includes(id)) task.accepted.push(id);
    if (!own.includes(task)) own.push(task);
  }

  /** A send that is answered at once; with its message kept in case that the gateway dies over it. */
  async function send(tenant: string, message: JsonObject, returnImmediately: boolean): Promise<void> {
    const request = { tenant, message };
    open.push(request);
    const target = own.find(({ id }) => id === message.taskId);
    if (target) target.unanswered = true;
    const answer = await ask("SendMessage", { ...request, configuration: { returnImmediately } });
    open.pop();
    if (target) target.unanswered = false;
    if (answer.kind === "error") return;
    const { task, message: said } = answer.message as EventJson;
    if (task) accept(ledger.sawTask(tenant, task), message);
    if (said) heard.push({ send: request, messageId: said.messageId });
  }

  async function stream(tenant: string, message: JsonObject): Promise<void> {
    const request = { tenant, message };
    open.push(request);
    const target = own.find(({ id }) => id === message.taskId);
    if (target) target.unanswered = true;
    await follow(tenant, client.stream("SendStreamingMessage", request), (task) => {
      open.pop();
      accept(task, message);
      task.unanswered = false;
    });
  }

  /** Listens for a while: a task may have nothing more to say. */
  async function subscribe({ tenant, id }: KnownTask, from?: number): Promise<void> {
    const options: AskOptions = from === undefined ? {} : { headers: resumeHeaders(`${id}:${from}`) };
    const stream = client.stream("SubscribeToTask", { tenant, id }, options);
    const leaving = setTimeout(stream.cancel, random.below(60));
    await follow(tenant, stream, () => undefined);
    clearTimeout(leaving);
  }

  /** Reads a stream into the ledger. */
  async function follow(tenant: string, stream: WireStream, begun: (task: KnownTask) => void): Promise<void> {
    let place: { taskId: string; number: number } | undefined;
    try {
      for (;;) {
        const step = await untilGone(stream.next());
        if (step.kind === "error" && step.first && REFUSALS.has(step.error.reason ?? "")) return;
        if (step.kind !== "event") {
          if (killed.aborted) throw new Gone();
          if (step.kind === "end") return;
          throw new Error(`a stream over ${name}: ${JSON.stringify(step.error)}`);
        }
        const first = place === undefined;
        place = nextPlace(place, step);
        ledger.sawEvent(tenant, place.number, step.message as EventJson);
        if (first) begun(ledger.tasks.get(place.taskId) as KnownTask);
      }
    } catch (error) {
      const state = place && ledger.tasks.get(place.taskId)?.state;
      if (error instanceof Gone && place && !isTerminal(String(state))) cut.push({ tenant, ...place });
      throw error;
    }
  }

  async function cancel(task: KnownTask): Promise<void> {
    task.unanswered = true;
    const answer = await ask("CancelTask", { tenant: task.tenant, id: task.id });
    task.unanswered = false;
    if (answer.kind === "ok") ledger.sawTask(task.tenant, answer.message as unknown as TaskJson);
  }

  async function look(task: KnownTask): Promise<void> {
    const answer = await ask("GetTask", { tenant: task.tenant, id: task.id });
    assert.equal(answer.kind, "ok", "a task that was shown is there");
    if (answer.kind === "ok") ledger.sawTask(task.tenant, answer.message as unknown as TaskJson);
  }

  const pieces = () => random.below(30);
  const ACTIONS: readonly (() => Promise<void>)[] = [
    () => stream(random.one(TENANTS), newMessage(`stream ${pieces()}`)),
    () => stream(random.one(TENANTS), newMessage(`ask ${pieces()}`)),
    () => stream("", newMessage(`auth ${pieces()}`)),
    () => send(random.one(TENANTS), newMessage(`stream ${pieces()}`), false),
    () => send(random.one(TENANTS), newMessage(`ask ${pieces()}`), false),
    () => send(random.one(TENANTS), newMessage(`stream ${10 * pieces()}`), true),
    () => send("", newMessage("hang 0"), true),
    () => send("", newMessage("say 0"), false),
    () =>
      withOne(
        (task) => isOpen(task.state),
        (task) => subscribe(task),
      ),
    () => withOne((task) => isOpen(task.state), cancel),
    () => withOne((task) => task.state === "TASK_STATE_INPUT_REQUIRED", cancel),
    () => withOne((task) => task.events.size > 2, takeUp),
    () => withOne(() => true, look),
    () => withWaiting((tenant, message) => send(tenant, message, random.below(2) === 0)),
    () => withWaiting(stream),
  ];

  async function withOne(
    fits: (task: KnownTask) => boolean,
    act: (task: KnownTask) => Promise<void>,
  ): Promise<void> {
    const fitting = own.filter(fits);
    if (fitting.length > 0) await act(random.one(fitting));
  }

  function withWaiting(act: (tenant: string, message: JsonObject) => Promise<void>): Promise<void> {
    return withOne(
      (task) => task.state === "TASK_STATE_INPUT_REQUIRED",
      ({ tenant, id: taskId, contextId }) =>
        act(tenant, newMessage(`${random.one(["stream", "ask"])} ${pieces()}`, { taskId, contextId })),
    );
  }

  /** Subscribes from an event that was seen: what comes is compared with what came before. */
  async function takeUp(task: KnownTask): Promise<void> {
    await subscribe(task, random.one([...task.events.keys()]));
  }

  try {
    for (;;) {
      await random.one(ACTIONS)();
      options.onAct();
    }
  } catch (error) {
    if (!(error instanceof Gone)) throw error;
    return { cut, open, heard };
  }
}

/** Both forms of asking for what was missed: each wire takes its own. */
export function resumeHeaders(id: string): Readonly<Record<string, string>> {
  return { "last-event-id": id, "switchyard-last-event-id": id };
}

interface EventStep {
  readonly headers: Readonly<Record<string, string>>;
  readonly id?: string | undefined;
}

/** Number of the next event: the header tells it of the first, the others follow. An SSE id must agree. */
export function nextPlace(
  place: { readonly taskId: string; readonly number: number } | undefined,
  { headers, id }: EventStep,
): { taskId: string; number: number } {
  const [, taskId = "", first = ""] = /^(.+):(\d+)$/.exec(headers["switchyard-event-id"] ?? "") ?? [];
  assert.notEqual(taskId, "", "a stream of a task says the number of its first event");
  const next = { taskId, number: place ? place.number + 1 : Number(first) };
  if (id !== undefined) assert.equal(id, `${next.taskId}:${next.number}`, "the id of the server-sent event");
  return next;
}
