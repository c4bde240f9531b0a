import type { Middleware } from "../../src/core/middleware.js";
import type { WireEvent } from "../../src/protocol/event.js";

/** What the streams of a gateway read from their logs. */
export interface Readers {
  /** To be given to the gateway. */
  readonly watch: Middleware;
  /** Readers that have not ended. */
  readonly open: number;
  /** Events handed to bindings so far. */
  readonly read: number;
  /** Resolves when no reader is open. */
  none(): Promise<void>;
}

/** Counts the readers behind the streams of a gateway. One is gone when its source has ended, not when it is told to. */
export function createReaders(): Readers {
  let open = 0;
  let read = 0;
  let waiting: (() => void)[] = [];
  const gone = (): void => {
    open -= 1;
    if (open > 0) return;
    for (const wake of waiting) wake();
    waiting = [];
  };
  const counted = (events: AsyncIterable<WireEvent>): AsyncIterable<WireEvent> => {
    open += 1;
    const source = events[Symbol.asyncIterator]();
    const end = once(gone);
    const iterator: AsyncIterator<WireEvent> = {
      async next() {
        try {
          const step = await source.next();
          if (step.done) end();
          else read += 1;
          return step;
        } catch (error) {
          end();
          throw error;
        }
      },
      async return() {
        await source.return?.();
        end();
        return { done: true, value: undefined };
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  };
  return {
    watch: async (_context, _request, next) => {
      const reply = await next();
      return reply.kind === "unary" ? reply : { ...reply, events: counted(reply.events) };
    },
    get open() {
      return open;
    },
    get read() {
      return read;
    },
    none: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}
