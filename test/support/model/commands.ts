import fc from "fast-check";
import { expect } from "vitest";
import type { ListTasksResponse } from "../../../src/protocol/schema.js";
import { TaskState } from "../../../src/protocol/schema.js";
import { userMessage, withParameters } from "../engine.js";
import { messageOf } from "../outcomes.js";
import type { Pull } from "./puppet.js";
import {
  type Caller,
  type Expected,
  isTerminal,
  type ModelMessage,
  type ModelTask,
  type ModelTurn,
  type Reference,
  type State,
  viewOf,
} from "./reference.js";
import { type OpenCall, type OpenStream, type Stage, viewOfTask } from "./stage.js";

const RESTARTED = "The gateway was restarted while this task was running.";

const OWNERS = ["alice", "bob"] as const;
const owners = fc.constantFrom(...OWNERS);
/** Whether a call about a task comes from someone else than its owner. */
const strangers = fc.constantFrom(false, false, false, true);
const texts = fc.constantFrom("go", "go", "go", "go on", "say hi", "throw");
const contexts = fc.option(fc.constantFrom("c1", "c2"), { nil: undefined });
const modes = fc.constantFrom("blocking", "immediate", "stream");
/** Which of the tasks there are, counted from the newest; ids of others find nothing. */
const places = fc.nat({ max: 4 });
const states = fc.constantFrom<State>(
  "WORKING",
  "INPUT_REQUIRED",
  "AUTH_REQUIRED",
  "COMPLETED",
  "CANCELED",
  "FAILED",
);
const said = fc.option(fc.string({ minLength: 1, maxLength: 3 }), { nil: undefined });
const pulls: fc.Arbitrary<Pull> = fc.oneof(
  {
    weight: 4,
    arbitrary: said.map(
      (text): Pull => ({ do: "progress", state: "WORKING", ...(text !== undefined && { said: text }) }),
    ),
  },
  { weight: 4, arbitrary: fc.constant<Pull>({ do: "progress", state: "AUTH_REQUIRED", said: "log in" }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("piece" as const),
      id: fc.constantFrom("x", "y"),
      append: fc.boolean(),
      text: fc.string({ minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ state: fc.constantFrom<State>("INPUT_REQUIRED", "AUTH_REQUIRED"), said })
      .map(toEnd),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ state: fc.constantFrom<State>("COMPLETED", "FAILED", "CANCELED", "REJECTED"), said })
      .map(toEnd),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Pull>({ do: "throw" }, { do: "nonsense" }, { do: "no outcome" }),
  },
);

function toEnd({ state, said: text }: { state: State; said: string | undefined }): Pull {
  return { do: "end", state, ...(text !== undefined && { said: text }) };
}

/** A stream that is open, and what it must show. */
interface Watched {
  readonly stream: OpenStream;
  readonly task: ModelTask;
  /** Number of the first event after the lead. */
  readonly from: number;
  readonly hasLead: boolean;
  /** The turn that it ends with; unset: it ends when the task does. */
  readonly turn: ModelTurn | undefined;
}

/** An engine with its callers, as the commands see it. */
export interface Real {
  readonly stage: Stage;
  /** What was sent, and by whom. */
  readonly sent: { readonly owner: string; readonly message: ModelMessage }[];
  blocked: { readonly call: OpenCall; readonly caller: Caller }[];
  watched: Watched[];
}
export type Command = fc.AsyncCommand<Reference, Real>;

/** Runs a command, lets the engine come to rest, and compares everything that callers hold. */
function command<Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (args: Args, model: Reference, real: Real) => Promise<void>,
): fc.Arbitrary<Command> {
  return args.map((each) => ({
    check: () => true,
    async run(model, real) {
      await run(each, model, real);
      await real.stage.settle();
      checkBlocked(real);
      checkWatched(real);
    },
    toString: () => `${name}(${fc.stringify(each)})`,
  }));
}

function checkBlocked(real: Real): void {
  for (const { call, caller } of real.blocked) {
    expect(call.outcome).toEqual(caller.result && { kind: "task", view: caller.result });
  }
  real.blocked = real.blocked.filter(({ caller }) => caller.result === undefined);
}

function checkWatched(real: Real): void {
  for (const { stream, task, from, hasLead, turn } of real.watched) {
    const end = turn?.lastNumber ?? task.events.length;
    const expected = task.events.map((text, index) => ({ number: index + 1, text })).slice(from - 1, end);
    expect(stream.events.slice(hasLead ? 1 : 0)).toEqual(expected);
    expect(stream.refused).toBeUndefined();
    expect(stream.ended).toBe(turn ? turn.lastNumber !== undefined : isTerminal(task.state));
  }
  real.watched = real.watched.filter(({ stream }) => !stream.ended);
}

/** One of the tasks, counted from the newest, with the one who asks for it. */
function pick(
  model: Reference,
  place: number,
  stranger: boolean,
): { readonly owner: string; readonly task?: ModelTask } {
  const task = model.tasks.at(-1 - (place % Math.max(model.tasks.length, 1)));
  if (task === undefined) return { owner: OWNERS[0] };
  return { owner: OWNERS.find((owner) => (owner === task.owner) !== stranger) ?? "", task };
}

let fresh = 0;
const sends = fc.record({ owner: owners, text: texts, contextId: contexts, mode: modes });
const send = command("send", sends, async ({ owner, mode, text, contextId }, model, real) => {
  const message = { ...freshMessage(text), ...(contextId !== undefined && { contextId }) };
  await sendOne(model, real, mode, { owner, message });
});

const followUps = fc.record({
  place: places,
  stranger: strangers,
  by: fc.constantFrom("task", "task", "both", "context", "other context"),
  text: texts,
  mode: modes,
});
const followUp = command("followUp", followUps, async ({ place, stranger, by, mode, text }, model, real) => {
  const { owner, task } = pick(model, place, stranger);
  const contextId = by === "other context" ? "elsewhere" : by === "task" ? undefined : task?.contextId;
  const message = {
    ...freshMessage(text),
    ...(by !== "context" && { taskId: task?.id ?? "unknown" }),
    ...(contextId !== undefined && { contextId }),
  };
  await sendOne(model, real, mode, { owner, message });
});

/** `change`: another text, or another owner, under the same id. */
const repeats = fc.record({
  place: fc.nat({ max: 6 }),
  change: fc.constantFrom("nothing", "nothing", "nothing", "text", "owner"),
  mode: modes,
});
const repeat = command("repeat", repeats, async ({ place, change, mode }, model, real) => {
  const before = real.sent.at(-1 - place);
  if (before === undefined) return;
  const { owner, message } = before;
  await sendOne(model, real, mode, {
    owner: change === "owner" ? (OWNERS.find((each) => each !== owner) ?? "") : owner,
    message: change === "text" ? { ...message, text: "go elsewhere" } : message,
  });
});

function freshMessage(text: string): Pick<ModelMessage, "text" | "messageId"> {
  fresh += 1;
  return { text, messageId: `m-${fresh}` };
}

async function sendOne(
  model: Reference,
  real: Real,
  mode: string,
  { owner, message }: Real["sent"][number],
): Promise<void> {
  const { stage } = real;
  const { text, ...more } = message;
  real.sent.push({ owner, message });
  const request = {
    message: userMessage(text, more),
    configuration: { returnImmediately: mode === "immediate" },
  };
  const isStream = mode === "stream";
  const call = isStream
    ? stage.stream("sendStreamingMessage", owner, request)
    : stage.call("sendMessage", owner, request);
  await stage.settle();
  let expected = model.send(owner, message);
  if (expected.kind === "new") {
    const ids = stage.puppet.last as { id: string; contextId: string };
    if (message.contextId !== undefined) expect(ids.contextId).toBe(message.contextId);
    expected = model.created(owner, message, ids);
  }
  if (isStream) expectStream(real, call as OpenStream, expected);
  else expectAnswer(real, call as OpenCall, expected, mode === "immediate");
}

function expectAnswer(real: Real, call: OpenCall, expected: Expected, immediate: boolean): void {
  switch (expected.kind) {
    case "refused":
    case "message":
      expect(call.outcome).toEqual(expected);
      return;
    case "turn": {
      if (immediate) break;
      const caller: Caller = {};
      expected.turn.callers.push(caller);
      real.blocked.push({ call, caller });
      return;
    }
    case "task":
  }
  expect(call.outcome).toEqual({ kind: "task", view: viewOf((expected as { task: ModelTask }).task) });
}

function expectStream(real: Real, stream: OpenStream, expected: Expected): void {
  switch (expected.kind) {
    case "refused":
      expect(stream.refused).toBe(expected.reason);
      return;
    case "message":
      expect(stream).toMatchObject({
        ended: true,
        events: [{ number: 0, text: `message ${expected.text}` }],
      });
      return;
    case "turn":
    case "task": {
      const { task } = expected;
      const number = task.events.length;
      expect(stream.lead).toEqual(viewOf(task));
      expect(stream.events[0]?.number).toBe(number);
      const turn = task.turn ?? { lastNumber: number, callers: [] };
      real.watched.push({ stream, task, from: number + 1, hasLead: true, turn });
    }
  }
}

const pull = command(
  "pull",
  fc.record({ place: places, what: pulls }),
  async ({ place, what }, model, real) => {
    const running = model.tasks.filter(({ turn }) => turn !== undefined);
    const task = running.at(-1 - (place % Math.max(running.length, 1)));
    if (task === undefined) return;
    real.stage.puppet.pull(task.id, what);
    switch (what.do) {
      case "progress":
        return model.progress(task, what.state, what.said);
      case "piece":
        return model.piece(task, what.id, what.append, what.text);
      case "end":
        return model.end(task, what.state, what.said);
      case "throw":
        return model.end(task, "FAILED", "The agent failed.");
      case "nonsense":
        return model.end(
          task,
          "FAILED",
          "The agent reported something that is neither a status nor an artifact.",
        );
      case "no outcome":
        return model.end(task, "FAILED", "The agent ended without an outcome.");
    }
  },
);

const cancels = fc.record({ place: places, stranger: strangers });
const cancel = command("cancel", cancels, async ({ place, stranger }, model, { stage }) => {
  const { owner, task: { id } = { id: "unknown" } } = pick(model, place, stranger);
  const call = stage.call("cancelTask", owner, { id });
  await stage.settle();
  const expected = model.cancel(owner, id);
  expect(call.outcome).toEqual(
    typeof expected === "string"
      ? { kind: "refused", reason: expected }
      : { kind: "task", view: viewOf(expected) },
  );
});

const get = command("get", cancels, async ({ place, stranger }, model, { stage }) => {
  const { owner, task: { id } = { id: "unknown" } } = pick(model, place, stranger);
  const call = stage.call("getTask", owner, { id });
  await stage.settle();
  const task = model.find(owner, id);
  expect(call.outcome).toEqual(
    task ? { kind: "task", view: viewOf(task) } : { kind: "refused", reason: "TASK_NOT_FOUND" },
  );
});

/** `back`: how many events before the last one were seen; absent: an ordinary subscription. */
const subscriptions = fc.record({
  place: places,
  stranger: strangers,
  back: fc.option(fc.integer({ min: -2, max: 5 })),
});
const subscribe = command("subscribe", subscriptions, async ({ place, stranger, back }, model, real) => {
  const { owner, task: { id } = { id: "unknown" } } = pick(model, place, stranger);
  const task = model.find(owner, id);
  const number = task?.events.length ?? 0;
  const seen = back === null ? undefined : number - back;
  const headers = seen === undefined ? {} : { "last-event-id": `${id}:${seen}` };
  const stream = real.stage.stream("subscribeToTask", owner, { id }, headers);
  await real.stage.settle();
  if (task === undefined) return expect(stream.refused).toBe("TASK_NOT_FOUND");
  const ended = isTerminal(task.state);
  if (seen !== undefined && seen >= 1 && seen <= number && !(ended && seen === number)) {
    real.watched.push({ stream, task, from: seen + 1, hasLead: false, turn: undefined });
    return;
  }
  if (ended) return expect(stream.refused).toBe("UNSUPPORTED_OPERATION");
  expect(stream.lead).toEqual(viewOf(task));
  expect(stream.events[0]?.number).toBe(number);
  real.watched.push({ stream, task, from: number + 1, hasLead: true, turn: undefined });
});

const filters = fc.record({
  owner: owners,
  contextId: contexts,
  state: fc.option(states, { nil: undefined }),
  pageSize: fc.integer({ min: 1, max: 3 }),
});
const list = command("list", filters, async ({ owner, contextId, state, pageSize }, model, { stage }) => {
  const filter = { ...(contextId && { contextId }), ...(state && { state }) };
  const expected = model.list(owner, filter);
  const seen: unknown[] = [];
  let pageToken = "";
  do {
    const request = {
      ...(contextId && { contextId }),
      ...(state && { status: TaskState[state] }),
      pageSize,
      pageToken,
      includeArtifacts: true,
    };
    const page = messageOf<ListTasksResponse>(
      await stage.engine.call("listTasks", request, withParameters({ "x-owner": owner })),
    );
    expect(page.totalSize).toBe(expected.length);
    expect(page.tasks.length).toBeLessThanOrEqual(pageSize);
    seen.push(...page.tasks.map(viewOfTask));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(seen).toEqual(expected.map(viewOf));
});

const restart = command("restart", fc.constant(undefined), async (_, model, real) => {
  await real.stage.restart();
  const failed = model.restart(RESTARTED);
  real.blocked = [];
  real.watched = [];
  await adoptOrder(failed, real.stage);
});

/** In which order a new process fails several tasks is its own affair. */
async function adoptOrder(failed: readonly ModelTask[], { engine }: Stage): Promise<void> {
  const timed = await Promise.all(
    failed.map(async (task) => {
      const snapshot = await engine.store.get({ tenant: "", owner: task.owner }, task.id);
      const { seconds = 0n, nanos = 0 } = snapshot?.task.status?.timestamp ?? {};
      return { task, at: Number(seconds) * 1_000 + nanos / 1_000_000 };
    }),
  );
  const places = failed.map(({ statusAt }) => statusAt).sort((a, b) => a - b);
  timed.sort((a, b) => a.at - b.at);
  for (const [index, { task }] of timed.entries()) task.statusAt = places[index] as number;
}

const OFTEN = [send, pull, pull, pull, followUp, repeat, subscribe];
/** Everything that clients and agents can do, as often as it is worth. */
export const COMMANDS = [...OFTEN, ...OFTEN, ...OFTEN, cancel, cancel, get, list, list, restart];
