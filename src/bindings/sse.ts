import type { ReplyHeaders, Traffic } from "../core/context.js";
import { A2AError } from "../errors.js";
import type { WireEvent } from "../protocol/event.js";
import type { HttpResponse } from "./http.js";

/** One event as the client sees it. */
export interface SseFrame {
  /** Its type; unset: `message`. */
  readonly event?: string;
  readonly id?: string | undefined;
  /** One line: JSON without line breaks. */
  readonly data: string;
}

export interface SseOptions {
  /** Headers of the reply, added to those of every event stream. */
  readonly headers: ReplyHeaders;
  readonly traffic: Traffic;
  /** Aborts when the client goes away; with an A2AError as reason the stream ends with that failure instead. */
  readonly signal: AbortSignal;
  readonly frame: (event: WireEvent) => SseFrame;
  /** The last frame of a stream that fails after its head went out. */
  readonly failure: (error: A2AError) => SseFrame;
  /** Milliseconds without an event before a comment is sent, and before the head goes out without one. Default 15 000. */
  readonly heartbeatMs?: number | undefined;
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};
const HEARTBEAT = ":\n\n";
const DONE = { done: true, value: undefined } as const;

/**
 * A stream as server-sent events. Settles with the first event, or after `heartbeatMs` without one. Rejects
 * when the stream fails before that: the caller then answers with a plain error.
 */
export async function sse(events: AsyncIterable<WireEvent>, options: SseOptions): Promise<HttpResponse> {
  const writer = new SseWriter(events[Symbol.asyncIterator](), options);
  await writer.start();
  return {
    status: 200,
    headers: { ...HEADERS, ...options.headers },
    body: { [Symbol.asyncIterator]: () => writer },
  };
}

/** What came of asking the stream for its next event. */
type News =
  | { readonly kind: "event"; readonly event: WireEvent }
  | { readonly kind: "failure"; readonly error: A2AError }
  | { readonly kind: "end" }
  | { readonly kind: "nothing yet" };

/** The body: asks for the next event when the client can take it, and shows life while there is none. */
class SseWriter implements AsyncIterator<string> {
  readonly #events: AsyncIterator<WireEvent>;
  readonly #options: SseOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #abort = () => this.#interrupt(this.#options.signal.reason);
  #asked = false;
  #news: News | undefined;
  #first: string | undefined;
  #closed = false;
  #wake: (news: News) => void = () => undefined;

  constructor(events: AsyncIterator<WireEvent>, options: SseOptions) {
    this.#events = events;
    this.#options = options;
    this.#timer = setTimeout(() => this.#wake({ kind: "nothing yet" }), options.heartbeatMs ?? 15_000);
    options.signal.addEventListener("abort", this.#abort, { once: true });
  }

  /** Waits for the first event, so that a failure before it can still be a plain error. */
  async start(): Promise<void> {
    if (this.#options.signal.aborted) this.#abort();
    const news = await this.#ask();
    if (news.kind === "failure") throw news.error;
    if (news.kind === "nothing yet") this.#first = HEARTBEAT;
    if (news.kind !== "event") return;
    try {
      this.#first = this.#write(news.event);
    } catch (thrown) {
      await this.return();
      throw A2AError.from(thrown);
    }
  }

  async next(): Promise<IteratorResult<string>> {
    const text = this.#first ?? (await this.#nextText());
    this.#first = undefined;
    if (text === undefined) return DONE;
    this.#options.traffic.sent += Buffer.byteLength(text);
    return { done: false, value: text };
  }

  /** Ends the reader of the stream, never the run. Does not wait for a reader that is in the middle of something. */
  async return(): Promise<IteratorResult<string>> {
    if (this.#closed) return DONE;
    this.#close();
    this.#wake({ kind: "end" });
    // How a reader nobody listens to ends is no news.
    this.#events.return?.().catch(() => undefined);
    return DONE;
  }

  /** The client has left, or the gateway ends the stream and says why. */
  #interrupt(reason: unknown): void {
    if (!(reason instanceof A2AError)) {
      void this.return();
      return;
    }
    this.#asked = true;
    this.#news = { kind: "failure", error: reason };
    this.#wake(this.#news);
    this.#events.return?.().catch(() => undefined);
  }

  async #nextText(): Promise<string | undefined> {
    const news = await this.#ask();
    switch (news.kind) {
      case "event":
        return this.#writeOrFail(news.event);
      case "failure":
        return format(this.#options.failure(news.error));
      case "nothing yet":
        return HEARTBEAT;
      case "end":
        return undefined;
    }
  }

  async #writeOrFail(event: WireEvent): Promise<string> {
    try {
      return this.#write(event);
    } catch (thrown) {
      await this.return();
      return format(this.#options.failure(A2AError.from(thrown)));
    }
  }

  #write(event: WireEvent): string {
    return format(this.#options.frame(event));
  }

  /** The next event, or "nothing yet" when it takes too long: asking again then goes on waiting for the same one. */
  async #ask(): Promise<News> {
    if (this.#closed) return { kind: "end" };
    if (!this.#asked) this.#pull();
    this.#timer.refresh();
    const news = this.#news ?? (await new Promise<News>((resolve) => (this.#wake = resolve)));
    if (news.kind === "nothing yet") return news;
    this.#news = undefined;
    this.#asked = false;
    if (news.kind !== "event") this.#close();
    return news;
  }

  #pull(): void {
    this.#asked = true;
    const arrive = (news: News) => {
      if (this.#news !== undefined) return; // interrupted meanwhile
      this.#news = news;
      this.#wake(news);
    };
    this.#events.next().then(
      (result) => arrive(result.done ? { kind: "end" } : { kind: "event", event: result.value }),
      (thrown) => arrive({ kind: "failure", error: A2AError.from(thrown) }),
    );
  }

  #close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener("abort", this.#abort);
  }
}

function format({ event, id, data }: SseFrame): string {
  const type = event === undefined ? "" : `event: ${event}\n`;
  const identity = id === undefined ? "" : `id: ${id}\n`;
  return `${identity}${type}data: ${data}\n\n`;
}
