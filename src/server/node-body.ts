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
export function readPieces(source: Readable, limitMs?: number): AsyncIterableIterator<Uint8Array> {
  const queue: Uint8Array[] = [];
  let waiting: Waiting | undefined;
  let end: { readonly error: A2AError | undefined } | undefined;
  let timer: NodeJS.Timeout | undefined;

  const onData = (piece: Uint8Array) => {
    if (waiting === undefined) {
      queue.push(piece);
      source.pause();
      return;
    }
    const { resolve } = waiting;
    waiting = undefined;
    resolve({ done: false, value: piece });
  };
  const finish = (error: A2AError | undefined) => {
    if (end !== undefined) return;
    end = { error };
    if (timer !== undefined) clearTimeout(timer);
    if (!source.readableEnded) source.off("data", onData).resume();
    if (error === undefined) waiting?.resolve(DONE);
    else waiting?.reject(error);
    waiting = undefined;
  };

  const onEnd = () => finish(undefined);
  const onClose = () => {
    if (end === undefined) finish(new A2AError("CANCELLED", { text: "The request body broke off." }));
  };

  if (source.readableEnded) onEnd();
  else if (source.destroyed) onClose();
  else {
    source.on("data", onData).on("end", onEnd).on("close", onClose);
    if (limitMs !== undefined) timer = setTimeout(() => finish(new A2AError("REQUEST_TIMEOUT")), limitMs);
  }

  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next(): Promise<Piece> {
      const piece = queue.shift();
      if (piece !== undefined) return Promise.resolve({ done: false, value: piece });
      if (end !== undefined)
        return end.error === undefined ? Promise.resolve(DONE) : Promise.reject(end.error);
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        source.resume();
      });
    },
    return() {
      queue.length = 0;
      finish(undefined);
      return Promise.resolve(DONE);
    },
  };
}
