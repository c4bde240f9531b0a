import type { FullTaskStore } from "../../src/stores/task-store.js";
import type { Random } from "./random.js";

const OPERATIONS = [
  "commit",
  "get",
  "entries",
  "list",
  "byMessage",
  "waiting",
  "running",
] as const satisfies readonly (keyof FullTaskStore)[];
const MOST_TICKS = 4;

/** A store as if over a network: each call begins, and its answer comes, some turns of the event loop later. */
export function createJitteryStore(store: FullTaskStore, random: Random): FullTaskStore {
  const pause = async (): Promise<void> => {
    for (let ticks = random.below(MOST_TICKS); ticks > 0; ticks -= 1) await new Promise(setImmediate);
  };
  const jittery = OPERATIONS.map((name) => {
    const operation = store[name] as (...args: unknown[]) => Promise<unknown>;
    const late = async (...args: unknown[]): Promise<unknown> => {
      await pause();
      const result = await operation(...args);
      await pause();
      return result;
    };
    return [name, late] as const;
  });
  return { ...store, ...Object.fromEntries(jittery) };
}
