import { setImmediate } from "node:timers/promises";
import type { FullTaskStore } from "../../src/stores/task-store.js";

/** A store that tells when nothing is being written to it. */
export interface QuietStore {
  readonly store: FullTaskStore;
  /** Resolves when all that was handed over before is durable and visible. */
  quiet(): Promise<void>;
}

/** Turns of the event loop without a write after which nothing more is on its way: what is gathered for one transaction waits for a turn or two. */
const QUIET_TURNS = 4;

export function createQuietStore(inner: FullTaskStore): QuietStore {
  let writing = 0;
  const store: FullTaskStore = {
    ...inner,
    commit: async (scope, taskId, write) => {
      writing += 1;
      try {
        return await inner.commit(scope, taskId, write);
      } finally {
        writing -= 1;
      }
    },
  };
  return {
    store,
    quiet: async () => {
      for (let quiet = 0; quiet < QUIET_TURNS; quiet = writing === 0 ? quiet + 1 : 0) await setImmediate();
    },
  };
}
