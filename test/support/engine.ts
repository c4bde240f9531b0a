import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Agent, AgentEntry, AgentPolicy } from "../../src/agents/agent.js";
import { createDirectory } from "../../src/agents/directory.js";
import { buildCards } from "../../src/core/cards.js";
import type { Call, Reply } from "../../src/core/context.js";
import { createEngine, type Engine } from "../../src/core/engine.js";
import type { CallRecord } from "../../src/core/telemetry.js";
import { createMemoryHub } from "../../src/hub/memory.js";
import type { WireEvent } from "../../src/protocol/event.js";
import {
  A2AService,
  type Message,
  MessageSchema,
  Role,
  SendMessageRequestSchema,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../src/protocol/schema.js";
import { createMemoryStore } from "../../src/stores/memory.js";
import type { FullTaskStore } from "../../src/stores/task-store.js";
import { callerOf } from "./caller.js";
import { createScriptedAgent, type Script, type ScriptedAgent } from "./scripted-agent.js";

const POLICY: AgentPolicy = { busy: "reject", followUps: "resume", concurrency: "many", idempotency: true };

export interface TestEngine {
  readonly engine: Engine;
  readonly agent: ScriptedAgent;
  readonly store: FullTaskStore;
  readonly records: CallRecord[];
  readonly faults: unknown[];
  /** Calls a method by its local name. */
  call(method: keyof typeof A2AService.method, request: object, options?: Partial<Call>): Promise<Reply>;
  send(
    text: string,
    more?: MessageInitShape<typeof MessageSchema>,
    configuration?: object,
    options?: Partial<Call>,
  ): Promise<SendMessageResponse>;
  stream(
    text: string,
    more?: MessageInitShape<typeof MessageSchema>,
    options?: Partial<Call>,
  ): Promise<AsyncIterator<WireEvent>>;
}

export interface TestEngineOptions {
  readonly policy?: Partial<AgentPolicy>;
  readonly store?: FullTaskStore;
  readonly owner?: string;
  readonly answerGraceMs?: number;
  readonly cancelGraceMs?: number;
  readonly maxLag?: number;
  readonly now?: () => number;
  /** Takes the place of the scripted one. */
  readonly agent?: Agent;
  /** Tenants besides the default one, each with the same agent. */
  readonly tenants?: readonly string[];
}

/** Parameters of a call besides the version; `x-owner` is who calls. */
export function withParameters(given: Readonly<Record<string, string>>): Pick<Call, "parameters"> {
  const all = new Map(Object.entries({ "a2a-version": "1.0", ...given }));
  return { parameters: (name) => all.get(name) };
}

let messages = 0;

/** A user message with a fresh id. */
export function userMessage(text: string, more: MessageInitShape<typeof MessageSchema> = {}): Message {
  messages += 1;
  return create(MessageSchema, {
    messageId: `m-${messages}`,
    role: Role.USER,
    parts: [{ content: { case: "text", value: text } }],
    ...more,
  });
}

/** The waist and everything behind it, without wires. */
export function createTestEngine(
  scripts: Readonly<{ [text: string]: Script }>,
  options: TestEngineOptions = {},
): TestEngine {
  const agent = createScriptedAgent(scripts);
  const store = options.store ?? createMemoryStore();
  const records: CallRecord[] = [];
  const faults: unknown[] = [];
  const cards = buildCards({
    tenant: "",
    card: agent.card,
    addresses: { url: "http://gateway.test" },
    streaming: true,
    pushNotifications: false,
  });
  const entryOf = (tenant: string): AgentEntry => ({
    tenant,
    agent: options.agent ?? agent,
    policy: { ...POLICY, ...options.policy },
    card: cards.card,
    extendedCardPublic: false,
  });
  const engine = createEngine({
    store,
    hub: createMemoryHub(),
    directory: createDirectory(["", ...(options.tenants ?? [])].map(entryOf)),
    observers: [{ callEnded: (record) => records.push(record) }],
    onFault: (fault) => faults.push(fault),
    authenticate: ({ parameters }) => ({ id: parameters("x-owner") ?? options.owner ?? "alice" }),
    ...(options.maxLag !== undefined && { maxLag: options.maxLag }),
    ...(options.now && { now: options.now }),
    ...(options.answerGraceMs !== undefined && { answerGraceMs: options.answerGraceMs }),
    ...(options.cancelGraceMs !== undefined && { cancelGraceMs: options.cancelGraceMs }),
  });

  function call(
    method: keyof typeof A2AService.method,
    request: object,
    more: Partial<Call> = {},
  ): Promise<Reply> {
    const descriptor = A2AService.method[method];
    const { signal = new AbortController().signal } = more;
    return engine.dispatcher.call({
      wire: "rest",
      method: descriptor,
      request: create(descriptor.input, request),
      ...withParameters({}),
      signal,
      caller: callerOf(signal),
      traffic: { received: 0, sent: 0 },
      ...more,
    });
  }

  function request(
    text: string,
    more: MessageInitShape<typeof MessageSchema> | undefined,
    configuration?: object,
  ) {
    return create(SendMessageRequestSchema, {
      message: userMessage(text, more),
      ...(configuration && { configuration }),
    });
  }

  return {
    engine,
    agent,
    store,
    records,
    faults,
    call,
    async send(text, more, configuration, callOptions) {
      const reply = await call("sendMessage", request(text, more, configuration), callOptions);
      if (reply.kind !== "unary") throw new Error("not a unary reply");
      return reply.message as SendMessageResponse;
    },
    async stream(text, more, callOptions) {
      const reply = await call("sendStreamingMessage", request(text, more), callOptions);
      return iteratorOf(reply);
    },
  };
}

export function iteratorOf(reply: Reply): AsyncIterator<WireEvent> {
  if (reply.kind !== "stream") throw new Error("not a stream");
  return reply.events[Symbol.asyncIterator]();
}

/** The Task that a stream begins with. */
export async function leadOf(iterator: AsyncIterator<WireEvent>): Promise<Task> {
  const step = await iterator.next();
  const payload = step.done ? undefined : step.value.response.payload;
  if (payload?.case !== "task") throw new Error("the stream does not begin with a task");
  return payload.value;
}

/** Reads a stream to its end. */
export async function readAll(iterator: AsyncIterator<WireEvent>): Promise<WireEvent[]> {
  const events: WireEvent[] = [];
  for (;;) {
    const step = await iterator.next();
    if (step.done) return events;
    events.push(step.value);
  }
}

/** What an event says, in a word: `task SUBMITTED`, `status WORKING`, `artifact a`, `message`. */
export function summary({ response }: { readonly response: StreamResponse }): string {
  const { payload } = response;
  switch (payload.case) {
    case "task":
      return `task ${TaskState[payload.value.status?.state ?? 0]}`;
    case "statusUpdate":
      return `status ${TaskState[payload.value.status?.state ?? 0]}`;
    case "artifactUpdate":
      return `artifact ${payload.value.artifact?.artifactId}`;
    case "message":
      return "message";
    case undefined:
      return "nothing";
  }
}
