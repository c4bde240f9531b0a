import { type AbortState, endReason } from "../protocol/ending.js";
import type { EventIterator } from "../protocol/event.js";

const DONE = { done: true, value: undefined } as const;

/**
 * Reads a stream until it ends, fails, or the call is aborted: then a waiting `next` rejects with the reason at
 * once and the stream is closed, whatever it is in the middle of. `return` does not wait for the stream either.
 */
export function readUntilAborted<T>(
  events: AsyncIterable<T>,
  caller: AbortState,
): AsyncIterableIterator<T> & EventIterator<T> {
  const source: EventIterator<T> = events[Symbol.asyncIterator]();
  let interrupt: (() => void) | undefined;
  let open = true;
  let aborted = false;
  const ended = (): Promise<IteratorResult<T>> =>
    aborted ? Promise.reject(endReason(caller)) : Promise.resolve(DONE);
  const close = (): void => {
    if (!open) return;
    open = false;
    caller.removeEventListener("abort", onAbort);
    interrupt?.();
    // How a stream ends that nobody reads any more is no news.
    source.return?.().catch(() => undefined);
  };
  const onAbort = () => {
    aborted = true;
    close();
  };
  if (caller.aborted) onAbort();
  else caller.addEventListener("abort", onAbort);

  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    take() {
      try {
        return open ? source.take?.() : undefined;
      } catch (thrown) {
        close();
        throw thrown;
      }
    },
    next() {
      if (!open) return ended();
      return new Promise((resolve, reject) => {
        interrupt = () => resolve(ended());
        source.next().then(
          (step) => {
            interrupt = undefined;
            if (step.done) close();
            resolve(step);
          },
          (thrown) => {
            interrupt = undefined;
            close();
            reject(thrown);
          },
        );
      });
    },
    return() {
      close();
      return Promise.resolve(DONE);
    },
  };
}
