import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../protocol/schema.js";
import type { Agent, Answer, Outcome, Progress, Turn } from "./agent.js";
import { type Content, describe, isRecord, partsOf } from "./content.js";
import { complete, working } from "./progress.js";

/** An agent's card. Unset: version `1.0.0`, plain text in and out. Interfaces and capabilities are filled in by the gateway. */
export type CardInit = MessageInitShape<typeof AgentCardSchema> & {
  readonly name: string;
  readonly description: string;
};

/** What a working agent may yield: a text or parts as its status, or progress made with `working`, `artifact`, `stream`. */
export type Step = Content | Progress;

/** How a generator may end: with nothing or content, which completes the task, or with an outcome. */
// biome-ignore lint/suspicious/noConfusingVoidType: a generator that never returns a value has the type void.
export type Ending = Content | Outcome | undefined | void;

/** A task in the making: a generator that yields progress and returns how it ended. */
export type Work = AsyncGenerator<Step, Ending, undefined>;

/**
 * What an agent may answer. Content: a direct message, no task (to a follow-up: it completes the task).
 * An outcome: a task that has ended. A generator: a task that is worked on.
 */
export type Reaction = Content | Outcome | Work;

/** What `defineAgent` takes. */
export interface AgentDefinition {
  readonly card: CardInit;
  /**
   * Called once for each message. `signal` aborts when the task is cancelled or the gateway stops: hand it to
   * everything that waits. What it throws is logged and fails the task; the caller does not see the text.
   */
  answer(turn: Turn, signal: AbortSignal): Reaction | Promise<Reaction>;
  /** Takes up a task that was running when the gateway stopped. Without it such a task FAILS. */
  resume?(turn: Turn, signal: AbortSignal): Reaction | Promise<Reaction>;
}

/** An agent from a card and a function; the result is what a module agent exports as its default. */
export function defineAgent(definition: AgentDefinition): Agent {
  const agent: Agent = {
    card: completeCard(definition.card),
    answer: async (turn, signal) => toAnswer(await definition.answer(turn, signal), turn),
  };
  if (definition.resume === undefined) return agent;
  const resume = definition.resume.bind(definition);
  return { ...agent, resume: async (turn, signal) => toAnswer(await resume(turn, signal), turn) };
}

function completeCard(init: CardInit): AgentCard {
  const card = create(AgentCardSchema, init);
  return create(AgentCardSchema, {
    ...card,
    version: card.version || "1.0.0",
    defaultInputModes: card.defaultInputModes.length > 0 ? card.defaultInputModes : ["text/plain"],
    defaultOutputModes: card.defaultOutputModes.length > 0 ? card.defaultOutputModes : ["text/plain"],
  });
}

function toAnswer(reaction: Reaction | Answer, turn: Turn): Answer {
  if (isAnswer(reaction)) return reaction;
  if (isWork(reaction)) return { kind: "task", work: new Drive(reaction, turn.task === undefined) };
  if (isOutcome(reaction)) return { kind: "task", work: ended(reaction) };
  if (reaction === undefined || reaction === null) {
    throw new TypeError(
      `answer() returned ${describe(reaction)}; return content, an outcome or a generator.`,
    );
  }
  return { kind: "message", parts: partsOf(reaction) };
}

/** An agent that was not made here, or was made twice, says it in full. */
function isAnswer(value: unknown): value is Answer {
  if (!isRecord(value)) return false;
  return (
    (value.kind === "message" && Array.isArray(value.parts)) || (value.kind === "task" && isWork(value.work))
  );
}

function isWork(value: unknown): value is Work {
  return isRecord(value) && Symbol.asyncIterator in value && typeof value.next === "function";
}

function isOutcome(value: unknown): value is Outcome {
  return isRecord(value) && typeof value.state === "number" && !("kind" in value);
}

function isProgress(value: unknown): value is Progress {
  return isRecord(value) && (value.kind === "status" || value.kind === "artifact");
}

async function* ended(outcome: Outcome): AsyncGenerator<Progress, Outcome> {
  yield* [];
  return outcome;
}

/**
 * The author's generator with its short forms written out; a new task that has an artifact is WORKING first. An object
 * of its own, since a generator around the generator would cost every step several promises.
 */
class Drive implements AsyncGenerator<Progress, Outcome> {
  readonly #work: Work;
  #announced: boolean;
  /** Waits behind the announcement. */
  #held: Progress | undefined;
  /** What the author's generator gave, written out. A generator that gave what cannot be is closed. */
  readonly #written = (
    step: IteratorResult<Step, Ending>,
  ): IteratorResult<Progress, Outcome> | Promise<IteratorResult<Progress, Outcome>> => {
    try {
      if (step.done) return { done: true, value: toOutcome(step.value) };
      return { done: false, value: this.#inOrder(isProgress(step.value) ? step.value : working(step.value)) };
    } catch (thrown) {
      return this.throw(thrown);
    }
  };

  constructor(work: Work, isNew: boolean) {
    this.#work = work;
    this.#announced = !isNew;
  }

  next(): Promise<IteratorResult<Progress, Outcome>> {
    const held = this.#held;
    if (held === undefined) return Promise.resolve(this.#work.next()).then(this.#written);
    this.#held = undefined;
    return Promise.resolve({ done: false, value: held });
  }

  async return(outcome: Outcome | PromiseLike<Outcome>): Promise<IteratorResult<Progress, Outcome>> {
    await this.#work.return(undefined);
    return { done: true, value: await outcome };
  }

  async throw(thrown: unknown): Promise<IteratorResult<Progress, Outcome>> {
    await this.#work.return(undefined);
    throw thrown;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work.return(undefined);
  }

  #inOrder(progress: Progress): Progress {
    if (this.#announced || progress.kind !== "artifact") {
      this.#announced = true;
      return progress;
    }
    this.#announced = true;
    this.#held = progress;
    return working();
  }
}

function toOutcome(ending: Ending): Outcome {
  if (ending === undefined || ending === null) return complete();
  return isOutcome(ending) ? ending : complete(ending);
}
