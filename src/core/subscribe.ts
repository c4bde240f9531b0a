import { A2AError } from "../errors.js";
import type { Entry } from "../protocol/entry.js";
import { type EventIterator, WireEvent } from "../protocol/event.js";
import { checkId } from "../protocol/ids.js";
import type { SubscribeToTaskRequest, Task } from "../protocol/schema.js";
import { phaseOf } from "../protocol/task.js";
import type { Snapshot, TaskStore } from "../stores/task-store.js";
import type { CallContext } from "./context.js";
import { type Log, logOf } from "./log.js";
import type { LogReader } from "./log-reader.js";
import type { Run } from "./run.js";
import { stateOf } from "./stamp.js";

/** A stream before its binding reads it. */
export interface EventStream {
  readonly events: AsyncIterable<WireEvent>;
  /** Id of the first event; unset when it belongs to no log. */
  readonly firstId?: string;
}

/** Response header that numbers the first message of a stream. */
export const EVENT_ID_HEADER = "switchyard-event-id";

/** Where a stream is taken up again: SSE's own header, or request metadata. */
const RESUME_PARAMETERS = ["last-event-id", "switchyard-last-event-id"] as const;

/** `<taskId>:<n>`: the n-th wire event of a task. */
export function formatEventId(taskId: string, number: number): string {
  return `${taskId}:${number}`;
}

/** The number in an id of this task; undefined for any other text. */
function parseEventId(taskId: string, id: string): number | undefined {
  const prefix = `${taskId}:`;
  const digits = id.startsWith(prefix) ? id.slice(prefix.length) : "";
  return /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : undefined;
}

/** The leading Task of a stream, at the number it is true at. */
export function taskEvent(task: Task, number: number): WireEvent {
  const response = { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } } as const;
  return WireEvent.of(response, number);
}

/** The wire events among entries, up to and with the one that ends the task, or else the run; of those in the log only what comes after number `seen`. */
export function eventsOf(
  lead: readonly WireEvent[],
  entries: LogReader,
  { seen = 0, run }: { readonly seen?: number; readonly run?: Run } = {},
): EventReader {
  return new EventReader(lead, entries, seen, run);
}

type Step = IteratorResult<WireEvent, undefined>;

const DONE = { done: true, value: undefined } as const;
const NO_EVENTS: readonly WireEvent[] = [];

/** No generator: each would cost every event a promise or two. */
export class EventReader implements EventIterator {
  #lead: readonly WireEvent[];
  readonly #entries: LogReader;
  readonly #seen: number;
  readonly #run: Run | undefined;
  #over = false;
  readonly #arrived = (step: IteratorResult<Entry, undefined>): Promise<Step> | Step => {
    if (step.done) return DONE;
    const event = this.#eventOf(step.value) ?? this.take();
    return event === undefined ? this.next() : { done: false, value: event };
  };

  constructor(lead: readonly WireEvent[], entries: LogReader, seen: number, run: Run | undefined) {
    this.#lead = lead;
    this.#entries = entries;
    this.#seen = seen;
    this.#run = run;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    const lead = this.#leading();
    if (lead !== undefined) return Promise.resolve({ done: false, value: lead });
    if (this.#over) return Promise.resolve(DONE);
    return this.#entries.next().then(this.#arrived);
  }

  async return(): Promise<Step> {
    this.#lead = NO_EVENTS;
    this.#end();
    return DONE;
  }

  /** While the lead is written the log is listened to already. */
  #leading(): WireEvent | undefined {
    const [event, ...rest] = this.#lead;
    if (event === undefined) return undefined;
    this.#lead = rest.length === 0 ? NO_EVENTS : rest;
    this.#entries.open();
    return event;
  }

  take(): WireEvent | undefined {
    const lead = this.#leading();
    if (lead !== undefined) return lead;
    while (!this.#over) {
      const entry = this.#entries.take();
      if (entry === undefined) return undefined;
      const event = this.#eventOf(entry);
      if (event !== undefined) return event;
    }
    return undefined;
  }

  #eventOf(entry: Entry): WireEvent | undefined {
    if (entry.event.number <= this.#seen) return undefined;
    if (this.#run?.endsAt(entry.seq) || isTerminal(entry)) this.#end();
    return entry.event;
  }

  #end(): void {
    this.#over = true;
    void this.#entries.return();
  }
}

/** True for the event after which nothing follows. */
function isTerminal(entry: Entry): boolean {
  const { payload } = entry.event.response;
  return payload.case === "statusUpdate" && payload.value.status !== undefined
    ? phaseOf(payload.value.status.state) === "terminal"
    : false;
}

/** Opens streams on tasks that exist (specification 3.1.6). */
export function createSubscriber(options: { readonly store: TaskStore; readonly log: Log }) {
  const { store, log } = options;

  /** The Task as it is now, then what happens. */
  function ordinary(context: CallContext, snapshot: Snapshot): EventStream {
    const { task, seq, number } = snapshot;
    const entries = log.read(logOf(context.scope, task.id), seq, context.caller);
    return {
      events: eventsOf([taskEvent(task, number)], entries),
      firstId: formatEventId(task.id, number),
    };
  }

  /** What came after event `seen`, in place of the leading Task. A log's n-th event never stands before its n-th entry. */
  function resumed(context: CallContext, snapshot: Snapshot, seen: number): EventStream {
    const { task } = snapshot;
    const entries = log.read(logOf(context.scope, task.id), seen, context.caller);
    return {
      events: eventsOf(NO_EVENTS, entries, { seen }),
      firstId: formatEventId(task.id, seen + 1),
    };
  }

  return {
    /** TASK_NOT_FOUND for an unknown task; UNSUPPORTED_OPERATION for an ended one of which nothing was missed. */
    async subscribe(context: CallContext, request: SubscribeToTaskRequest): Promise<EventStream> {
      checkId("id", request.id);
      const snapshot = await store.get(context.scope, request.id);
      if (snapshot === undefined) throw new A2AError("TASK_NOT_FOUND", { metadata: { taskId: request.id } });
      const seen = resumePoint(context, snapshot);
      const ended = phaseOf(stateOf(snapshot.task)) === "terminal";
      if (seen !== undefined && !(ended && seen === snapshot.number)) return resumed(context, snapshot, seen);
      if (!ended) return ordinary(context, snapshot);
      throw new A2AError("UNSUPPORTED_OPERATION", {
        text: "The task has ended: there is nothing to subscribe to.",
      });
    },
  };
}

export type Subscriber = ReturnType<typeof createSubscriber>;

function resumePoint(context: CallContext, snapshot: Snapshot): number | undefined {
  for (const name of RESUME_PARAMETERS) {
    const id = context.parameters(name);
    const seen = id === undefined ? undefined : parseEventId(snapshot.task.id, id);
    if (seen !== undefined && seen <= snapshot.number) return seen;
  }
  return undefined;
}
