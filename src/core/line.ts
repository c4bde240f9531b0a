import { A2AError } from "../errors.js";
import { type AbortState, abortable } from "../protocol/ending.js";
import { createDeferred } from "./async.js";

/** Messages that wait for busy tasks: each task has a line, and who comes first is served first. */
export interface Lines {
  /** True when somebody stands in this line. */
  has(key: string): boolean;
  /**
   * Waits until everyone who came before has left. Resolves with the function that leaves the line, to be called
   * once. Rejects as soon as the call is aborted, and with RESOURCE_EXHAUSTED when the line is full.
   */
  enter(key: string, caller: AbortState): Promise<() => void>;
}

interface Line {
  length: number;
  /** Resolves when everyone who stands in the line has left. */
  empty: Promise<void>;
}

/** @param limit longest line, default 64. */
export function createLines(limit = 64): Lines {
  const lines = new Map<string, Line>();
  return {
    has: (key) => lines.has(key),
    async enter(key, caller) {
      const line = lines.get(key) ?? { length: 0, empty: Promise.resolve() };
      if (line.length >= limit) {
        throw new A2AError("RESOURCE_EXHAUSTED", { text: "Too many messages wait for this task." });
      }
      const before = line.empty;
      const left = createDeferred<void>();
      lines.set(key, line);
      line.length += 1;
      line.empty = before.then(() => left.promise);
      const leave = (): void => {
        left.resolve();
        line.length -= 1;
        if (line.length === 0) lines.delete(key);
      };
      try {
        await abortable(before, caller);
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
  };
}
