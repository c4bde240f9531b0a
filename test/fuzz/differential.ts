import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { commonPart, createNormalForm, type NormalForm } from "../scenarios/normal-form.js";
import type { Stage } from "../scenarios/stage.js";
import type { Script, ScriptedAgent } from "../support/scripted-agent.js";
import type { Answer, Step, WireStream } from "../support/wires/index.js";

/** What agents do in the sequences. `work` waits at its gate until the sequence finishes or cancels it. */
const KINDS = ["quick", "ask", "login", "fail", "reject", "talk", "work", "boom", "refuse"] as const;
type Kind = (typeof KINDS)[number];

/** One step of a sequence. Tasks and contexts are named by place, so that every gateway's own ids fit. */
export type Move =
  | {
      readonly do: "send" | "stream";
      readonly kind: Kind;
      readonly context: number;
      readonly history: number | null;
    }
  | { readonly do: "start"; readonly kind: Kind; readonly context: number }
  | { readonly do: "follow"; readonly task: number; readonly kind: Kind; readonly streaming: boolean }
  | { readonly do: "get"; readonly task: number; readonly history: number | null }
  | { readonly do: "list"; readonly filter: JsonObject }
  | { readonly do: "cancel" | "subscribe" | "finish"; readonly task: number };

const task = fc.nat({ max: 5 });
const context = fc.nat({ max: 3 });
const history = fc.option(fc.nat({ max: 3 }));
const kind = fc.constantFrom(...KINDS);
const filter = fc.record(
  {
    status: fc.constantFrom("TASK_STATE_COMPLETED", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"),
    pageSize: fc.integer({ min: 1, max: 4 }),
    includeArtifacts: fc.boolean(),
    historyLength: fc.nat({ max: 2 }),
  },
  { requiredKeys: [] },
);

/** A sequence of operations, each of which makes sense after those before it or is refused for a plain reason. */
export const sequence: fc.Arbitrary<Move[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("send", "stream"), kind, context, history }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("start"), kind, context }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("follow"), task, kind, streaming: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("get"), task, history }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("list"), filter }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("cancel", "subscribe", "finish"), task }) },
  ),
  { minLength: 1, maxLength: 14 },
) as fc.Arbitrary<Move[]>;

interface Walk extends Stage {
  readonly contexts: readonly string[];
  /** Ids in the order in which the sequence met them. */
  readonly tasks: string[];
  readonly streams: Reading[];
  readonly normal: NormalForm;
  readonly seen: JsonValue[];
}

/** A stream that is read to its end in the background. */
interface Reading {
  readonly stream: WireStream;
  readonly steps: JsonValue[];
  readonly ended: Promise<void>;
}

/** Walks through a sequence over one wire and returns what it saw, in normal form. */
export async function walk(moves: readonly Move[], stage: Stage): Promise<JsonValue> {
  const { client, agent, quiet } = stage;
  agent.load(
    Object.fromEntries(moves.flatMap((move, place) => ("kind" in move ? [scriptOf(move.kind, place)] : []))),
  );
  const normal = createNormalForm();
  const way: Walk = {
    ...stage,
    contexts: [randomUUID(), randomUUID(), ""],
    tasks: [],
    streams: [],
    normal,
    seen: [],
  };
  for (const [place, move] of moves.entries()) {
    await make(way, move, place);
    await quiet();
  }
  agent.gates.openAll();
  await agent.idle();
  await quiet();
  for (const id of way.tasks) note(way, await client.call("CancelTask", { id }));
  for (const { stream, ended } of way.streams) {
    await ended;
    stream.cancel();
  }
  return [...way.seen, ...way.streams.map(({ steps }) => steps.map((step) => normal(step)))];
}

async function make(way: Walk, move: Move, place: number): Promise<void> {
  const { client, agent } = way;
  switch (move.do) {
    case "send":
      return sendAndWait(way, move, place);
    case "start":
      return note(
        way,
        await client.call("SendMessage", {
          ...request(way, move, place),
          configuration: { returnImmediately: true },
        }),
      );
    case "stream":
      return open(way, "SendStreamingMessage", request(way, move, place));
    case "follow": {
      const { message } = request(way, { kind: move.kind, context: 2 }, place);
      const follow = { message: { ...message, taskId: taskAt(way, move.task) } };
      if (move.streaming || move.kind === "work") return open(way, "SendStreamingMessage", follow);
      return note(way, await client.call("SendMessage", follow));
    }
    case "get":
      return note(
        way,
        await client.call("GetTask", { id: taskAt(way, move.task), ...lengthOf(move.history) }),
      );
    case "list":
      return list(way, move.filter);
    case "cancel":
      return note(way, await client.call("CancelTask", { id: taskAt(way, move.task) }));
    case "subscribe":
      return open(way, "SubscribeToTask", { id: taskAt(way, move.task) });
    case "finish": {
      agent.gates.open(gateOf(agent, taskAt(way, move.task)));
      return undefined;
    }
  }
}

/** Waiting for work that nobody finishes would never end: it is started instead. */
async function sendAndWait(
  way: Walk,
  move: Extract<Move, { kind: Kind; history: number | null }>,
  place: number,
) {
  const configuration = { ...lengthOf(move.history), returnImmediately: move.kind === "work" };
  note(way, await way.client.call("SendMessage", { ...request(way, move, place), configuration }));
}

/** All pages of a context, by their tokens. */
async function list(way: Walk, filter: JsonObject): Promise<void> {
  let pageToken = "";
  for (let pages = 0; pages < 20; pages += 1) {
    const answer = await way.client.call("ListTasks", {
      contextId: way.contexts[0] as string,
      ...filter,
      pageToken,
    });
    note(way, answer);
    pageToken = answer.kind === "ok" ? String((answer.message as JsonObject).nextPageToken ?? "") : "";
    if (pageToken === "") return;
  }
}

async function open(way: Walk, method: string, asked: JsonObject): Promise<void> {
  const stream = way.client.stream(method, asked);
  const first = await stream.next();
  const steps = [stepOf(first)];
  const reading: Reading = {
    stream,
    steps,
    ended: first.kind === "event" ? drain(stream, steps) : Promise.resolve(),
  };
  way.streams.push(reading);
  way.seen.push(way.normal(steps[0] as JsonValue));
  if (first.kind === "event") meet(way, first.message);
}

async function drain(stream: WireStream, steps: JsonValue[]): Promise<void> {
  for (;;) {
    const step = await stream.next();
    steps.push(stepOf(step));
    if (step.kind !== "event") return;
  }
}

function stepOf(step: Step): JsonValue {
  if (step.kind === "event") return step.message;
  return step.kind === "end" ? "end" : { error: commonPart(step.error), first: step.first };
}

function note(way: Walk, answer: Answer): void {
  way.seen.push(way.normal(answer.kind === "ok" ? answer.message : { error: commonPart(answer.error) }));
  if (answer.kind === "ok") meet(way, answer.message);
}

function meet({ tasks }: Walk, message: JsonValue): void {
  const { task: met } = message as { task?: { id: string } };
  if (met && !tasks.includes(met.id)) tasks.push(met.id);
}

function request({ contexts }: Walk, { kind, context: at }: { kind: Kind; context: number }, place: number) {
  const contextId = contexts[at] ?? "";
  return {
    message: {
      messageId: randomUUID(),
      role: "ROLE_USER",
      parts: [{ text: `${kind} ${place}` }],
      ...(contextId === "" ? {} : { contextId }),
    },
  };
}

function taskAt({ tasks }: Walk, at: number): string {
  return tasks[at] ?? "unknown-task";
}

function lengthOf(history: number | null): JsonObject {
  return history === null ? {} : { historyLength: history };
}

/** The gate at which the last turn of a task waits, if it does. */
function gateOf(agent: ScriptedAgent, taskId: string): string {
  return agent.record.turns.findLast((turn) => turn.taskId === taskId)?.text ?? "";
}

function scriptOf(kind: Kind, place: number): [string, Script] {
  const name = `${kind} ${place}`;
  const scripts: Record<Kind, Script> = {
    quick: [
      { status: "WORKING", parts: "on it" },
      { artifact: "a", parts: name },
      { done: "COMPLETED", parts: "done" },
    ],
    ask: [
      { artifact: "a", parts: name, append: false, last: true },
      { done: "INPUT_REQUIRED", parts: "what?" },
    ],
    login: [{ done: "AUTH_REQUIRED", parts: "log in" }],
    fail: [{ status: "WORKING" }, { done: "FAILED" }],
    reject: [{ done: "REJECTED", parts: "no" }],
    talk: [{ message: `said ${name}`, metadata: { n: 1, none: null } }],
    work: [{ status: "WORKING" }, { gate: name }, { chunks: 3, of: "c" }, { done: "COMPLETED" }],
    boom: [{ status: "WORKING" }, { throw: "secret" }],
    refuse: [{ fail: "PERMISSION_DENIED", text: "Not today." }],
  };
  return [name, scripts[kind]];
}
