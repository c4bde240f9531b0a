import { A2AError } from "../errors.js";
import type { Hub, Listener, Subscription } from "../hub/hub.js";
import { type AbortState, endReason } from "../protocol/ending.js";
import type { Entry } from "../protocol/entry.js";
import type { Groups } from "../protocol/registry.js";
import type { Scope, TaskStore } from "../stores/task-store.js";

/** What readers find their logs with. */
export interface LogSource {
  readonly store: TaskStore;
  readonly hub: Hub;
  /** Entries that a reader keeps in memory before it turns to the store. */
  readonly bufferEntries: number;
  /** Entries that a reader may be behind. */
  readonly maxLag: number;
  /** Entries of a log that were committed a moment ago, as far as they are remembered. */
  recent(key: string): readonly Entry[];
  /** Those who listen, by the names of their logs. */
  readonly readers: Groups<LogReader>;
}

/** One log. */
export interface LogName {
  readonly scope: Scope;
  readonly taskId: string;
  /** Its name in the hub. */
  readonly key: string;
}

/** Entries read from the store at once: each slow reader holds its own. */
const PAGE = 64;
const NOTHING: readonly Entry[] = [];
const DONE = { done: true, value: undefined } as const;

type Step = IteratorResult<Entry, undefined>;

/**
 * Reads one log. What is there already comes without a promise, by `take`; one `next` at a time. A class that is called
 * back: this is on the way of every event, and an idle stream would keep every function that is suspended here.
 */
export class LogReader implements AsyncIterableIterator<Entry, undefined>, Listener {
  readonly #source: LogSource;
  readonly #log: LogName;
  readonly #caller: AbortState;
  #seen: number;
  /** What is being read, and how far. */
  #page = NOTHING;
  #read = 0;
  /** What was heard since. */
  #live = NOTHING;
  /** Entries are not known that the store has. Nothing is known before the first look. */
  #missed = true;
  /** In the middle of reading the store, which has more. */
  #paging = false;
  #heardFirst = 0;
  #heardLast = 0;
  /** Waits for the hub or the store. */
  #busy = false;
  #failure: { readonly thrown: unknown } | undefined;
  #open = false;
  #subscription: Subscription | undefined;
  #closed = false;
  /** Settles a `next` that waits. */
  #settle: ((step: Step | Promise<Step>) => void) | undefined;

  constructor(source: LogSource, log: LogName, after: number, caller: AbortState) {
    this.#source = source;
    this.#log = log;
    this.#seen = after;
    this.#caller = caller;
  }

  /** Name of the log in the hub. */
  get key(): string {
    return this.#log.key;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Begins to listen, unless it does already; `next` does so, too. Who has opened must read on, or return. */
  open(): void {
    if (this.#open || this.#closed) return;
    this.#open = true;
    this.#source.readers.add(this.key, this);
    this.#caller.addEventListener("abort", this);
    void this.#listen();
  }

  /** The next entry if it is there already. Throws as `next` rejects. */
  take(): Entry | undefined {
    for (;;) {
      const entry = this.#page[this.#read];
      if (entry === undefined) {
        if (!this.#turn()) return undefined;
        continue;
      }
      this.#read += 1;
      if (entry.seq <= this.#seen) continue;
      if (this.#lag() > this.#source.maxLag) throw this.#ended(tooSlow());
      this.#seen = entry.seq;
      return entry;
    }
  }

  next(): Promise<Step> {
    this.open();
    return new Promise((settle) => {
      this.#settle = settle;
      this.#goOn();
    });
  }

  /** Also ends a `next` that waits. */
  async return(): Promise<Step> {
    this.#close();
    return DONE;
  }

  /** For the hub, and for who knows that the log is not what it was. */
  wake(entries?: readonly Entry[]): void {
    if (this.#closed) return;
    this.#heardFirst ||= entries?.[0]?.seq ?? 0;
    this.#heardLast = Math.max(this.#heardLast, entries?.at(-1)?.seq ?? 0);
    if (entries === undefined || this.#live.length + entries.length > this.#source.bufferEntries) {
      this.#missed = true;
      this.#live = NOTHING;
    } else if (!this.#missed) {
      this.#live = this.#live.length === 0 ? entries : [...this.#live, ...entries];
    }
    this.#goOn();
  }

  fail(error: A2AError): void {
    this.#failure = { thrown: error };
    this.#goOn();
  }

  /** The call was aborted. */
  handleEvent(): void {
    this.#goOn();
  }

  /** Answers a `next` that waits, if there is something to say, and looks for it where it may be. */
  #goOn(): void {
    const settle = this.#settle;
    if (settle === undefined || (this.#busy && !this.#closed)) return;
    this.#settle = undefined; // closing comes here again
    let step: Step | Promise<Step> | undefined;
    try {
      const entry = this.take();
      if (entry !== undefined) step = { done: false, value: entry };
      else if (this.#closed) step = DONE;
    } catch (thrown) {
      step = Promise.reject(thrown);
    }
    if (step !== undefined) {
      settle(step);
      return;
    }
    this.#settle = settle;
    if (this.#missed || this.#paging) void this.#look();
  }

  async #listen(): Promise<void> {
    const { hub, bufferEntries } = this.#source;
    this.#busy = true;
    try {
      const subscription = await hub.subscribe(this.key, this);
      if (this.#closed) {
        subscription.close();
        return;
      }
      this.#subscription = subscription;
    } catch (thrown) {
      this.#failed(thrown);
      return;
    }
    const entries = this.#source.recent(this.key);
    const first = entries[0];
    if (first !== undefined && first.seq <= this.#seen + 1 && entries.length <= bufferEntries) {
      this.#missed = false;
      this.#live = entries;
    }
    this.#busy = false;
    this.#goOn();
  }

  #failed(thrown: unknown): void {
    this.#busy = false;
    this.#failure ??= { thrown };
    this.#goOn();
  }

  /** Goes on to what was heard meanwhile; false when there is nothing, or something before it. */
  #turn(): boolean {
    if (this.#failure !== undefined && !this.#closed) throw this.#ended(this.#failure.thrown);
    if (!this.#closed && this.#caller.aborted) throw this.#ended(endReason(this.#caller));
    this.#page = NOTHING;
    this.#read = 0;
    if (this.#missed || this.#paging || this.#live.length === 0) return false;
    this.#page = this.#live;
    this.#live = NOTHING;
    return true;
  }

  /** A page from the store. At first the entry before it is read too: without that, the task is gone. */
  async #look(): Promise<void> {
    const after = this.#paging ? this.#seen : Math.max(this.#seen - 1, 0);
    if (!this.#paging) this.#missed = false;
    this.#busy = true;
    try {
      const { scope, taskId } = this.#log;
      const page = await this.#source.store.entries(scope, taskId, after, PAGE);
      if (page.length === 0 && after < this.#seen) {
        throw new A2AError("TASK_NOT_FOUND", { metadata: { taskId } });
      }
      this.#paging = page.length === PAGE;
      if (!this.#closed) this.#page = page;
    } catch (thrown) {
      this.#failed(thrown);
      return;
    }
    this.#busy = false;
    this.#goOn();
  }

  /** How far this reader is behind, in entries that came since it is here. */
  #lag(): number {
    return this.#heardLast - Math.max(this.#seen, this.#heardFirst - 1);
  }

  #ended(thrown: unknown): unknown {
    this.#close();
    return thrown;
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#page = NOTHING;
    this.#live = NOTHING;
    this.#goOn();
    if (!this.#open) return;
    this.#caller.removeEventListener("abort", this);
    this.#subscription?.close();
    this.#source.readers.remove(this.key, this);
  }
}

function tooSlow(): A2AError {
  return new A2AError("RESOURCE_EXHAUSTED", { text: "The stream was read too slowly. Subscribe again." });
}
