import type { ServerDuplexStream, ServerWritableStream } from "@grpc/grpc-js";
import type { Traffic } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { endReason } from "../../protocol/ending.js";
import type { EventIterator } from "../../protocol/event.js";
import type { OpenCall, OpenCalls } from "./open-calls.js";
import { toGrpcStatus } from "./status.js";

/** A call that answers with a stream. */
export type StreamCall = ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;

/** Messages that are written without a promise if they are there already. */
const BATCH = 16;
/** Batches of one stream that are written before other calls get a turn. */
const BURST = 4;

/** What the streams of a method have in common. */
export interface StreamForm<T> {
  /** Where a call is taken out when nothing more is written. */
  readonly open: OpenCalls;
  encode(message: T): Buffer;
}

/** One stream. */
export interface StreamInit<T> {
  readonly call: StreamCall;
  readonly opened: OpenCall;
  readonly messages: AsyncIterable<T>;
  readonly form: StreamForm<T>;
  /** Where the bytes of messages are counted. Unset: nowhere. */
  readonly traffic?: Traffic;
}

/**
 * Writes a stream to its end or its failure, as fast as the client reads. When the call is aborted its reader is closed
 * at once, whatever it is in the middle of, and the call ends with the reason. A class that is called back: an async
 * function would keep suspended frames with every open stream.
 */
export class StreamWriter<T> {
  readonly #call: StreamCall;
  readonly #messages: EventIterator<T>;
  readonly #form: StreamForm<T>;
  readonly #opened: OpenCall;
  readonly #traffic: Traffic | undefined;
  #written = 0;
  #closed = false;

  constructor(init: StreamInit<T>) {
    this.#call = init.call;
    this.#messages = init.messages[Symbol.asyncIterator]();
    this.#form = init.form;
    this.#opened = init.opened;
    this.#traffic = init.traffic;
  }

  start(): void {
    this.#opened.addEventListener("abort", this);
    if (this.#opened.aborted) this.handleEvent();
    else this.#pull();
  }

  /** The call was aborted. */
  handleEvent(): void {
    this.#fail(endReason(this.#opened));
  }

  readonly #pull = (): void => {
    if (!this.#closed) this.#messages.next().then(this.#came, this.#fail);
  };

  readonly #came = (step: IteratorResult<T>): void => {
    if (this.#closed) return;
    try {
      if (!step.done) this.#write(step.value);
      else {
        this.#close();
        this.#call.end();
        this.#form.open.remove(this.#opened);
      }
    } catch (thrown) {
      this.#fail(thrown);
    }
  };

  readonly #fail = (thrown: unknown): void => {
    if (this.#closed) return;
    this.#close();
    // How a stream ends that nobody reads any more is no news.
    this.#messages.return?.().catch(() => undefined);
    fail(this.#call, A2AError.from(thrown));
    this.#form.open.remove(this.#opened);
  };

  #write(message: T): void {
    this.#written += 1;
    if (!this.#writeReady(message)) this.#call.once("drain", this.#pull);
    else if (this.#written % BURST === 0) setImmediate(this.#pull);
    else this.#pull();
  }

  /** Writes a message and those that are there behind it; false when the client must read before more is written. */
  #writeReady(first: T): boolean {
    let hasRoom = this.#send(first);
    for (let count = 1; hasRoom && count < BATCH; count += 1) {
      const message = this.#messages.take?.();
      if (message === undefined) return true;
      hasRoom = this.#send(message);
    }
    return hasRoom;
  }

  #send(message: T): boolean {
    const bytes = this.#form.encode(message);
    if (this.#traffic !== undefined) this.#traffic.sent += bytes.byteLength;
    return this.#call.write(bytes);
  }

  #close(): void {
    this.#closed = true;
    this.#opened.removeEventListener("abort", this);
  }
}

/** Ends a stream with an error. (For grpc-js the event is the way to do so; it does not destroy the stream.) */
export function fail(call: StreamCall, error: A2AError): void {
  call.emit("error", toGrpcStatus(error));
}
