import { createMemoryStore } from "../../src/stores/memory.js";
import type { FullTaskStore, Write } from "../../src/stores/task-store.js";
import { createGates, type Gates } from "./gates.js";

/** A store whose commits can be held back. */
export interface HeldStore {
  readonly store: FullTaskStore;
  /** A commit comes by the gate `commit` if `holds` says so. */
  readonly gates: Gates;
  holds: (write: Write) => boolean;
}

/** Nothing is held at first. */
export function createHeldStore(store: FullTaskStore = createMemoryStore()): HeldStore {
  const gates = createGates();
  const held: HeldStore = {
    gates,
    holds: () => false,
    store: {
      ...store,
      async commit(scope, taskId, write) {
        if (held.holds(write)) await gates.pass("commit");
        return await store.commit(scope, taskId, write);
      },
    },
  };
  return held;
}
