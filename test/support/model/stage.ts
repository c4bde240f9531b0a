import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import type { Call, Reply } from "../../../src/core/context.js";
import { A2AError } from "../../../src/errors.js";
import type { WireEvent } from "../../../src/protocol/event.js";
import {
  type Artifact,
  type Message,
  type SendMessageResponse,
  type Task,
  TaskState,
} from "../../../src/protocol/schema.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTestEngine, iteratorOf, type TestEngine, withParameters } from "../engine.js";
import { messageOf, textsOf } from "../outcomes.js";
import { createPuppet, type Puppet } from "./puppet.js";
import type { State, TaskView } from "./reference.js";

/** What a call led to. */
export type Outcome =
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "task"; readonly view: TaskView };

/** A call that may take its time. */
export interface OpenCall {
  /** Unset while it is not answered. */
  readonly outcome: Outcome | undefined;
}

/** A stream, read as it comes. */
export interface OpenStream {
  /** The Task that it began with; unset when it began with anything else. */
  readonly lead: TaskView | undefined;
  /** Number and content of each event. */
  readonly events: readonly { readonly number: number; readonly text: string }[];
  readonly ended: boolean;
  readonly refused: string | undefined;
}

/** An engine with a puppet behind it, which can be replaced by another one on the same store. */
export interface Stage {
  readonly puppet: Puppet;
  readonly engine: TestEngine;
  call(method: Parameters<TestEngine["call"]>[0], owner: string, request: object, more?: Headers): OpenCall;
  stream(
    method: Parameters<TestEngine["call"]>[0],
    owner: string,
    request: object,
    more?: Headers,
  ): OpenStream;
  /** Lets everything happen that can. */
  settle(): Promise<void>;
  /** The process dies: what was open is gone, and another engine takes over. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

type Headers = Readonly<Record<string, string>>;

/** Turns of the event loop in which an engine comes to rest, with room to spare. */
const TICKS = 10;

/** `reopen` gives the store that the next engine uses. */
export function createStage(
  store: FullTaskStore,
  reopen: (store: FullTaskStore) => Promise<FullTaskStore>,
): Stage {
  let nowMs = 0;
  const now = () => (nowMs += 1);
  let current = open(store);

  function open(at: FullTaskStore) {
    const puppet = createPuppet();
    const engine = createTestEngine({}, { store: at, agent: puppet.agent, now });
    const gone = new AbortController();
    setMaxListeners(0, gone.signal); // one signal for all calls
    return { puppet, engine, store: at, gone };
  }

  const callOptions = (owner: string, more: Headers): Partial<Call> => ({
    ...withParameters({ "x-owner": owner, ...more }),
    signal: current.gone.signal,
  });

  async function settle(): Promise<void> {
    for (let tick = 0; tick < TICKS; tick += 1) await new Promise(setImmediate);
  }

  return {
    get puppet() {
      return current.puppet;
    },
    get engine() {
      return current.engine;
    },
    call(method, owner, request, more = {}) {
      const call: { outcome: Outcome | undefined } = { outcome: undefined };
      current.engine.call(method, request, callOptions(owner, more)).then(
        (reply) => (call.outcome = outcomeOf(reply)),
        (error: unknown) => (call.outcome = { kind: "refused", reason: reasonOf(error) }),
      );
      return call;
    },
    stream(method, owner, request, more = {}) {
      const stream = { lead: undefined, events: [], ended: false, refused: undefined };
      void read(stream, current.engine.call(method, request, callOptions(owner, more)));
      return stream;
    },
    settle,
    async restart() {
      current.gone.abort();
      await settle();
      current = open(await reopen(current.store));
      await current.engine.engine.recover();
    },
    close: () => current.store.close(),
  };
}

function reasonOf(error: unknown): string {
  assert.ok(error instanceof A2AError, String(error));
  return error.reason;
}

async function read(
  stream: { -readonly [Name in keyof OpenStream]: OpenStream[Name] },
  replying: Promise<Reply>,
): Promise<void> {
  const events: { number: number; text: string }[] = [];
  stream.events = events;
  try {
    const iterator = iteratorOf(await replying);
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) {
      const { payload } = step.value.response;
      if (events.length === 0 && payload.case === "task") stream.lead = viewOfTask(payload.value);
      events.push({ number: step.value.number, text: wordsOf(step.value) });
    }
    stream.ended = true;
  } catch (error) {
    stream.refused = reasonOf(error);
  }
}

function outcomeOf(reply: Reply): Outcome {
  const message = messageOf<SendMessageResponse | Task>(reply);
  if (message.$typeName === "lf.a2a.v1.Task") return { kind: "task", view: viewOfTask(message) };
  const { payload } = message;
  if (payload.case === "task") return { kind: "task", view: viewOfTask(payload.value) };
  return { kind: "message", text: textsOf([payload.value as Message])[0] ?? "" };
}

/** A task as callers see it. */
export function viewOfTask({ id, status, history, artifacts }: Task): TaskView {
  return {
    id,
    state: TaskState[status?.state ?? 0] as State,
    said: status?.message && textsOf([status.message])[0],
    history: textsOf(history),
    artifacts: Object.fromEntries(artifacts.map((each) => [each.artifactId, partTexts(each)])),
  };
}

function partTexts({ parts }: Artifact): string[] {
  return parts.map(({ content }) => (content.case === "text" ? content.value : "?"));
}

/** An event in the words of the reference. */
function wordsOf({ response: { payload } }: WireEvent): string {
  switch (payload.case) {
    case "task":
      return `task ${TaskState[payload.value.status?.state ?? 0]}`;
    case "statusUpdate": {
      const { status } = payload.value;
      return `status ${TaskState[status?.state ?? 0]} ${status?.message ? textsOf([status.message])[0] : ""}`;
    }
    case "artifactUpdate": {
      const { artifact, append } = payload.value;
      return `artifact ${artifact?.artifactId} ${append ? "+" : "="}${partTexts(artifact as Artifact).join()}`;
    }
    case "message":
      return `message ${textsOf([payload.value])[0]}`;
    case undefined:
      return "nothing";
  }
}
