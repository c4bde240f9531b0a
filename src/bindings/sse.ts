import type { ReplyHeaders, Traffic } from "../core/context.js";
import { A2AError } from "../errors.js";
import type { AbortState } from "../protocol/ending.js";
import type { EventIterator, WireEvent } from "../protocol/event.js";
import type { HttpResponse } from "./http.js";

/** What a binding makes of a stream: lines of JSON. */
export interface SseForm {
  write(event: WireEvent): string;
  /** The last line of a stream that fails after its head went out. */
  fail(error: A2AError): string;
  /** The type that the event of a failure has. Unset: none of its own. */
  readonly failureType?: string;
}

export interface SseOptions {
  /** Headers of the reply, added to those of every event stream. */
  readonly headers: ReplyHeaders;
  readonly traffic: Traffic;
  /** Aborts when the client goes away; with an A2AError as reason the stream ends with that failure instead. */
  readonly caller: AbortState;
  readonly form: SseForm;
  /** Milliseconds without an event before a comment is sent, and before the head goes out without one. Default 15 000. */
  readonly heartbeatMs?: number | undefined;
}

/** Events that are written at once, if they are there already, and the length of text that is enough. */
const BATCH = 16;
const BATCH_LENGTH = 16_384;
const HEARTBEAT = ":\n\n";
const DONE = { done: true, value: undefined } as const;

/**
 * A stream as server-sent events. Settles with the first event, or after `heartbeatMs` without one. Rejects
 * when the stream fails before that: the caller then answers with a plain error.
 */
export async function sse(events: AsyncIterable<WireEvent>, options: SseOptions): Promise<HttpResponse> {
  const writer = new SseWriter(events[Symbol.asyncIterator](), options);
  await writer.start();
  const headers: Record<string, string> = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
  };
  return { status: 200, headers: Object.assign(headers, options.headers), body: writer };
}

/** What came of asking the stream for its next event. */
type News = WireEvent | A2AError | "end" | "nothing yet";

/** The body: asks for the next event when the client can take it, and shows life while there is none. */
class SseWriter implements AsyncIterableIterator<string> {
  readonly #events: EventIterator;
  readonly #form: SseForm;
  readonly #caller: AbortState;
  readonly #traffic: Traffic;
  readonly #timer: NodeJS.Timeout;
  readonly #arrive = (step: IteratorResult<WireEvent>) => this.#tell(step.done ? "end" : step.value);
  readonly #fail = (thrown: unknown) => this.#tell(A2AError.from(thrown));
  /** The stream was asked, and what it answers has not been passed on. */
  #asked = false;
  /** Came while nobody waited. */
  #news: News | undefined;
  #wake: ((news: News) => void) | undefined;
  #first: string | undefined;
  #closed = false;

  constructor(events: EventIterator, options: SseOptions) {
    this.#events = events;
    this.#form = options.form;
    this.#caller = options.caller;
    this.#traffic = options.traffic;
    this.#timer = setTimeout(() => this.#showLife(), options.heartbeatMs ?? 15_000);
    options.caller.addEventListener("abort", this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Waits for the first event, so that a failure before it can still be a plain error. */
  async start(): Promise<void> {
    if (this.#caller.aborted) this.handleEvent();
    const news = await new Promise<News>((resolve) => this.#ask(resolve));
    if (news instanceof A2AError) throw news;
    if (news === "nothing yet") this.#first = HEARTBEAT;
    if (typeof news === "string") return;
    try {
      this.#first = this.#write(news);
    } catch (thrown) {
      void this.return();
      throw A2AError.from(thrown);
    }
  }

  next(): Promise<IteratorResult<string>> {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) return Promise.resolve(this.#piece(first));
    return new Promise((resolve) => this.#ask((news) => resolve(this.#pieceOf(news))));
  }

  /** Ends the reader of the stream, never the run. Does not wait for a reader that is in the middle of something. */
  async return(): Promise<IteratorResult<string>> {
    if (this.#closed) return DONE;
    this.#close();
    this.#wake?.("end");
    this.#leave();
    return DONE;
  }

  /** The call was aborted: the client has left, or the gateway ends the stream and says why. */
  handleEvent(): void {
    const { reason } = this.#caller;
    if (!(reason instanceof A2AError)) {
      void this.return();
      return;
    }
    this.#news = undefined; // too late
    this.#tell(reason);
    this.#leave();
  }

  #pieceOf(news: News): IteratorResult<string> {
    if (news === "end") return DONE;
    if (news === "nothing yet") return this.#piece(HEARTBEAT);
    if (news instanceof A2AError) return this.#piece(this.#failure(news));
    let text = "";
    try {
      let event: WireEvent | undefined = news;
      for (let count = 1; event !== undefined; count += 1) {
        text += this.#write(event);
        event = count < BATCH && text.length < BATCH_LENGTH ? this.#events.take?.() : undefined;
      }
    } catch (thrown) {
      void this.return();
      text += this.#failure(A2AError.from(thrown));
    }
    return this.#piece(text);
  }

  #piece(text: string): IteratorResult<string> {
    this.#traffic.sent += Buffer.byteLength(text);
    return { done: false, value: text };
  }

  #write(event: WireEvent): string {
    const { id } = event;
    const identity = id === undefined ? "" : `id: ${id}\n`;
    return `${identity}data: ${this.#form.write(event)}\n\n`;
  }

  #failure(error: A2AError): string {
    const { failureType } = this.#form;
    const type = failureType === undefined ? "" : `event: ${failureType}\n`;
    return `${type}data: ${this.#form.fail(error)}\n\n`;
  }

  /** The next event, or "nothing yet" when it takes too long: asking again then goes on waiting for the same one. */
  #ask(wake: (news: News) => void): void {
    if (this.#closed) {
      wake("end");
      return;
    }
    this.#timer.refresh();
    this.#wake = wake;
    if (this.#news !== undefined) this.#pass(this.#news);
    else if (!this.#asked) {
      this.#asked = true;
      this.#events.next().then(this.#arrive, this.#fail);
    }
  }

  #tell(news: News): void {
    if (this.#closed || this.#news !== undefined) return; // interrupted meanwhile
    if (this.#wake === undefined) this.#news = news;
    else this.#pass(news);
  }

  #pass(news: News): void {
    const wake = this.#wake;
    this.#wake = undefined;
    this.#news = undefined;
    this.#asked = false;
    if (typeof news === "string" || news instanceof A2AError) this.#close();
    wake?.(news);
  }

  #showLife(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.("nothing yet");
  }

  #leave(): void {
    // How a reader nobody listens to ends is no news.
    this.#events.return?.().catch(() => undefined);
  }

  #close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#caller.removeEventListener("abort", this);
  }
}
