import { create, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { Agent, Answer, Outcome, Progress, Turn, TurnStopped } from "../../src/agents/agent.js";
import { A2AError, type Reason } from "../../src/errors.js";
import {
  type AgentCard,
  AgentCardSchema,
  ArtifactSchema,
  type Message,
  type Part,
  PartSchema,
  TaskState,
} from "../../src/protocol/schema.js";
import { createGates, type Gates } from "./gates.js";

/** Text becomes one text part; a list is parts as ProtoJSON. */
export type Parts = string | readonly JsonValue[];

/** One thing that a scripted agent does. */
export type Act =
  | { readonly status: "WORKING" | "AUTH_REQUIRED"; readonly parts?: Parts; readonly metadata?: JsonObject }
  | {
      readonly artifact: string;
      readonly parts?: Parts;
      readonly append?: boolean;
      readonly last?: boolean;
      readonly name?: string;
      readonly metadata?: JsonObject;
    }
  /** So many artifact chunks, one after the other, each with its number and, if asked, filled up to so many bytes. */
  | { readonly chunks: number; readonly of: string; readonly bytes?: number }
  /** Waits until the test opens the gate; a deaf agent waits through a cancel, too. */
  | { readonly gate: string }
  /** Before the first other act: waits at a gate before it says what its answer is. */
  | { readonly hold: string }
  /** Waits for a message in the inbox and shows its text as a status. */
  | { readonly inbox: true }
  /** From here on the agent takes no notice of its signal. */
  | { readonly deaf: true }
  | { readonly throw: string }
  | { readonly fail: Reason; readonly text?: string }
  /** Progress as it is, to break the contract. */
  | { readonly raw: Progress }
  /** Ends the turn. */
  | { readonly done: keyof typeof TaskState; readonly parts?: Parts; readonly metadata?: JsonObject }
  /** Answers with a message: no task. */
  | { readonly message: Parts; readonly metadata?: JsonObject };

export type Script = readonly Act[];

/** What the agent was asked. */
export interface SeenTurn {
  readonly text: string;
  readonly taskId: string;
  readonly contextId: string;
  /** State of the task that the turn continues. */
  readonly state?: string;
  /** Texts in the history of that task. */
  readonly history: readonly string[];
  readonly extensions: readonly string[];
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: JsonObject;
  readonly messageMetadata?: JsonObject;
}

/** What a scripted agent went through since the last `load`. */
export interface AgentRecord {
  readonly turns: SeenTurn[];
  /** Why turns were stopped. */
  readonly stops: { readonly why: string; readonly metadata: JsonObject }[];
  started: number;
  ended: number;
  aborted: number;
}

export interface ScriptedAgent extends Agent {
  readonly gates: Gates;
  readonly record: AgentRecord;
  /** Replaces the scripts and forgets what was seen. A message is answered by the script of its first text. */
  load(scripts: Readonly<{ [text: string]: Script }>): void;
  /** Resolves when no run is under way. */
  idle(): Promise<void>;
}

/** An agent that does what its scripts say. Without a script for a message it throws. */
export function createScriptedAgent(
  scripts: Readonly<{ [text: string]: Script }> = {},
  card: AgentCard = scriptedCard(),
): ScriptedAgent {
  const gates = createGates();
  const record: AgentRecord = { turns: [], stops: [], started: 0, ended: 0, aborted: 0 };
  let current = new Map(Object.entries(scripts));
  let waiting: (() => void)[] = [];
  const ended = (): void => {
    record.ended += 1;
    if (record.started > record.ended) return;
    for (const wake of waiting) wake();
    waiting = [];
  };
  return {
    card,
    gates,
    record,
    load: (next) => {
      current = new Map(Object.entries(next));
      Object.assign(record, { turns: [], stops: [], started: 0, ended: 0, aborted: 0 });
      gates.reset();
    },
    idle: () =>
      record.started === record.ended ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    answer: (turn, signal) => {
      record.turns.push(seen(turn));
      record.started += 1;
      const script = current.get(textOf(turn.message));
      return perform({ turn, signal, gates, script, record, ended });
    },
  };
}

/** A card with what REQUIRED asks for and nothing more, unless `more` (ProtoJSON) says so. */
export function scriptedCard(more: JsonObject = {}): AgentCard {
  return fromJson(AgentCardSchema, {
    name: "Scripted",
    description: "Does what a test says.",
    version: "1.2.3",
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "act", name: "Act", description: "Acts.", tags: ["test"] }],
    ...more,
  });
}

/** Text of the first text part. */
export function textOf(message: Message): string {
  const part = message.parts.find((each) => each.content.case === "text");
  return part?.content.case === "text" ? part.content.value : "";
}

interface Stage {
  readonly turn: Turn;
  readonly signal: AbortSignal;
  readonly gates: Gates;
  readonly script: Script | undefined;
  readonly record: AgentRecord;
  readonly ended: () => void;
}

/** What comes before there is an answer: holds, failures and message answers. */
async function perform(stage: Stage): Promise<Answer> {
  const { script, gates, signal, ended, turn } = stage;
  try {
    if (!script) throw new Error(`no script for ${JSON.stringify(textOf(turn.message))}`);
    const holds = script.findIndex((act) => !("hold" in act));
    for (const act of script.slice(0, holds)) if ("hold" in act) await gates.pass(act.hold, signal);
    const [first, ...rest] = script.slice(holds);
    if (first && "fail" in first) throw failure(first);
    if (first && "throw" in first) throw new Error(first.throw);
    if (first && "message" in first) {
      ended();
      return { kind: "message", parts: partsOf(first.message), ...metadataOf(first) };
    }
    return { kind: "task", work: work(stage, first ? [first, ...rest] : rest) };
  } catch (error) {
    ended();
    throw error;
  }
}

async function* work(stage: Stage, acts: Script): AsyncGenerator<Progress, Outcome> {
  const { gates, signal, turn, record, ended } = stage;
  let deaf = false;
  const noteAbort = (): void => {
    record.aborted += 1;
    const { why, metadata } = signal.reason as TurnStopped;
    record.stops.push({ why, metadata });
  };
  signal.addEventListener("abort", noteAbort, { once: true });
  try {
    for (const act of acts) {
      if ("done" in act) {
        const state = TaskState[act.done] as Outcome["state"];
        return { state, ...partsIf(act.parts), ...metadataOf(act) };
      }
      if ("deaf" in act) deaf = true;
      else if ("gate" in act) await gates.pass(act.gate, deaf ? undefined : signal);
      else if ("inbox" in act) yield await readInbox(turn);
      else if ("chunks" in act) yield* chunks(act);
      else yield progressOf(act);
    }
    return undefined as unknown as Outcome; // a script without `done` breaks the contract on purpose
  } finally {
    signal.removeEventListener("abort", noteAbort);
    ended();
  }
}

function progressOf(act: Act): Progress {
  if ("status" in act) {
    return { kind: "status", state: TaskState[act.status], ...partsIf(act.parts), ...metadataOf(act) };
  }
  if ("artifact" in act) {
    const { artifact: artifactId, parts = [], append = false, last = false, name = "" } = act;
    const artifact = create(ArtifactSchema, { artifactId, name, parts: partsOf(parts) });
    return { kind: "artifact", artifact, append, lastChunk: last, ...metadataOf(act) };
  }
  if ("raw" in act) return act.raw;
  if ("fail" in act) throw failure(act);
  if ("throw" in act) throw new Error(act.throw);
  throw new Error(`${JSON.stringify(act)} has no place here`);
}

function* chunks({ chunks: count, of, bytes = 0 }: Extract<Act, { chunks: number }>): Generator<Progress> {
  for (let index = 0; index < count; index += 1) {
    const artifact = create(ArtifactSchema, {
      artifactId: of,
      parts: partsOf(`${index} `.padEnd(bytes, ".")),
    });
    yield { kind: "artifact", artifact, append: index > 0, lastChunk: index === count - 1 };
  }
}

async function readInbox({ inbox }: Turn): Promise<Progress> {
  for await (const message of inbox) {
    return { kind: "status", state: TaskState.WORKING, parts: partsOf(`got ${textOf(message)}`) };
  }
  throw new Error("the inbox ended");
}

function failure({ fail, text }: { fail: Reason; text?: string }): A2AError {
  return new A2AError(fail, text === undefined ? {} : { text });
}

/** Parts as the scripts write them. */
export function partsOf(parts: Parts): Part[] {
  if (typeof parts === "string") return [create(PartSchema, { content: { case: "text", value: parts } })];
  return parts.map((part) => fromJson(PartSchema, part));
}

function partsIf(parts: Parts | undefined): { parts?: Part[] } {
  return parts === undefined ? {} : { parts: partsOf(parts) };
}

function metadataOf({ metadata }: { metadata?: JsonObject }): { metadata?: JsonObject } {
  return metadata === undefined ? {} : { metadata };
}

function seen(turn: Turn): SeenTurn {
  const { message, task, taskId, contextId, extensions, acceptedOutputModes, metadata } = turn;
  const state = task?.status && TaskState[task.status.state];
  return {
    text: textOf(message),
    taskId,
    contextId,
    ...(state === undefined ? {} : { state }),
    history: (task?.history ?? []).map(textOf),
    extensions,
    acceptedOutputModes,
    metadata,
    ...(message.metadata ? { messageMetadata: message.metadata } : {}),
  };
}
