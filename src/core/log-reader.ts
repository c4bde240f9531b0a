import { A2AError } from "../errors.js";
import type { Hub } from "../hub/hub.js";
import { type AbortState, endReason } from "../protocol/ending.js";
import type { Entry } from "../protocol/entry.js";
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
  /** Told when the reader begins to listen, and when it no longer does. */
  entered(reader: LogReader): void;
  left(reader: LogReader): void;
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

/**
 * Reads one log. What is there already comes without a promise, by `take`; one `next` at a time. A class, and no
 * generators inside one another: this is on the way of every event of every stream.
 */
export class LogReader implements AsyncIterableIterator<Entry, undefined> {
  /** Name of the log in the hub. */
  readonly key: string;
  readonly #source: LogSource;
  readonly #scope: Scope;
  readonly #taskId: string;
  readonly #caller: AbortState;
  #seen: number;
  /** What is being read, and how far. */
  #page = NOTHING;
  #place = 0;
  /** What was heard since. */
  #live = NOTHING;
  /** Entries are not known that the store has. Nothing is known before the first look. */
  #missed = true;
  /** In the middle of reading the store, which has more. */
  #paging = false;
  #heardFirst = 0;
  #heardLast = 0;
  #failure: A2AError | undefined;
  #listening: Promise<void> | undefined;
  #unsubscribe: (() => void) | undefined;
  #closed = false;
  /** Goes on with a `next` that waits. */
  #resume: (() => void) | undefined;

  constructor(source: LogSource, { scope, taskId, key }: LogName, after: number, caller: AbortState) {
    this.#source = source;
    this.#scope = scope;
    this.#taskId = taskId;
    this.key = key;
    this.#seen = after;
    this.#caller = caller;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Begins to listen, unless it does already; `next` does so, too. Who has opened must read on, or return. */
  open(): void {
    if (this.#listening !== undefined || this.#closed) return;
    this.#source.entered(this);
    this.#caller.addEventListener("abort", this);
    this.#listening = this.#listen();
    this.#listening.catch(() => undefined); // `next` hears of it
  }

  /** The next entry if it is there already. Throws as `next` rejects. */
  take(): Entry | undefined {
    for (;;) {
      const entry = this.#page[this.#place];
      if (entry === undefined) {
        if (!this.#turn()) return undefined;
        continue;
      }
      this.#place += 1;
      if (entry.seq <= this.#seen) continue;
      if (this.#lag() > this.#source.maxLag) throw this.#ended(tooSlow());
      this.#seen = entry.seq;
      return entry;
    }
  }

  async next(): Promise<IteratorResult<Entry, undefined>> {
    this.open();
    try {
      await this.#listening;
      for (;;) {
        const entry = this.take();
        if (entry !== undefined) return { done: false, value: entry };
        if (this.#closed) return DONE;
        await (this.#missed || this.#paging ? this.#look() : this.#stirred());
      }
    } catch (thrown) {
      this.#close();
      throw thrown;
    }
  }

  /** Also ends a `next` that waits. */
  async return(): Promise<IteratorResult<Entry, undefined>> {
    this.#close();
    return DONE;
  }

  /** For the hub, and for who knows that the log is not what it was. */
  wake(entries?: readonly Entry[]): void {
    this.#heardFirst ||= entries?.[0]?.seq ?? 0;
    this.#heardLast = Math.max(this.#heardLast, entries?.at(-1)?.seq ?? 0);
    if (entries === undefined || this.#live.length + entries.length > this.#source.bufferEntries) {
      this.#missed = true;
      this.#live = NOTHING;
    } else if (!this.#missed) {
      this.#live = this.#live.length === 0 ? entries : [...this.#live, ...entries];
    }
    this.#stir();
  }

  fail(error: A2AError): void {
    this.#failure = error;
    this.#stir();
  }

  /** The call was aborted. */
  handleEvent(): void {
    this.#stir();
  }

  async #listen(): Promise<void> {
    const { hub, bufferEntries } = this.#source;
    const unsubscribe = await hub.subscribe(this.key, (entries) => this.wake(entries));
    if (this.#closed) return unsubscribe();
    this.#unsubscribe = unsubscribe;
    const entries = this.#source.recent(this.key);
    const first = entries[0];
    if (first !== undefined && first.seq <= this.#seen + 1 && entries.length <= bufferEntries) {
      this.#missed = false;
      this.#live = entries;
    }
  }

  /** Goes on to what was heard meanwhile; false when there is nothing, or something before it. */
  #turn(): boolean {
    if (this.#failure !== undefined) throw this.#ended(this.#failure);
    if (!this.#closed && this.#caller.aborted) throw this.#ended(endReason(this.#caller));
    this.#page = NOTHING;
    this.#place = 0;
    if (this.#missed || this.#paging || this.#live.length === 0) return false;
    this.#page = this.#live;
    this.#live = NOTHING;
    return true;
  }

  #stirred(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  #stir(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  /** A page from the store. At first the entry before it is read too: without that, the task is gone. */
  async #look(): Promise<void> {
    const after = this.#paging ? this.#seen : Math.max(this.#seen - 1, 0);
    if (!this.#paging) this.#missed = false;
    const page = await this.#source.store.entries(this.#scope, this.#taskId, after, PAGE);
    if (page.length === 0 && after < this.#seen) {
      throw new A2AError("TASK_NOT_FOUND", { metadata: { taskId: this.#taskId } });
    }
    this.#paging = page.length === PAGE;
    if (!this.#closed) this.#page = page;
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
    this.#stir();
    if (this.#listening === undefined) return;
    this.#caller.removeEventListener("abort", this);
    this.#unsubscribe?.();
    this.#source.left(this);
  }
}

function tooSlow(): A2AError {
  return new A2AError("RESOURCE_EXHAUSTED", { text: "The stream was read too slowly. Subscribe again." });
}
