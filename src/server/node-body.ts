import type { Readable } from "node:stream";
import { A2AError } from "../errors.js";

type Piece = IteratorResult<Uint8Array, undefined>;
interface Waiting {
  resolve(piece: Piece): void;
  reject(error: A2AError): void;
}

const DONE: Piece = { done: true, value: undefined };

/**
 * The pieces of a request body, paused while nobody pulls. Rejects with CANCELLED when the body breaks off and,
 * given a limit, with REQUEST_TIMEOUT when it has not arrived in time. What is left after an early return is
 * read and dropped, so that the connection can serve the next request. (Cheaper than Node's own iterator.)
 */
export class BodyPieces implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #source: Readable;
  readonly #queue: Uint8Array[] = [];
  readonly #onData = (piece: Uint8Array): void => this.#take(piece);
  readonly #onEnd = (): void => this.#finish(undefined);
  readonly #onClose = (): void => this.#finish(brokenOff());
  #waiting: Waiting | undefined;
  #end: { readonly error: A2AError | undefined } | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param limitMs How long the body may take to arrive. Unset: for ever. */
  constructor(source: Readable, limitMs?: number) {
    this.#source = source;
    if (source.readableEnded) this.#finish(undefined);
    else if (source.destroyed) this.#finish(brokenOff());
    else this.#listen(limitMs);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Piece> {
    const piece = this.#queue.shift();
    if (piece !== undefined) return Promise.resolve({ done: false, value: piece });
    if (this.#end?.error !== undefined) return Promise.reject(this.#end.error);
    if (this.#end !== undefined) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#source.resume();
    });
  }

  return(): Promise<Piece> {
    this.#queue.length = 0;
    this.#finish(undefined);
    return Promise.resolve(DONE);
  }

  #listen(limitMs: number | undefined): void {
    this.#source.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose);
    if (limitMs === undefined) return;
    this.#timer = setTimeout(() => this.#finish(new A2AError("REQUEST_TIMEOUT")), limitMs);
  }

  #take(piece: Uint8Array): void {
    if (this.#waiting === undefined) {
      this.#queue.push(piece);
      this.#source.pause();
      return;
    }
    const { resolve } = this.#waiting;
    this.#waiting = undefined;
    resolve({ done: false, value: piece });
  }

  #finish(error: A2AError | undefined): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    // The request lives as long as its answer, and would keep all this.
    this.#source.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose);
    if (!this.#source.readableEnded) this.#source.resume();
    if (error === undefined) this.#waiting?.resolve(DONE);
    else this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

function brokenOff(): A2AError {
  return new A2AError("CANCELLED", { text: "The request body broke off." });
}
