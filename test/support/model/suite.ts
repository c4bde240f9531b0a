import { join } from "node:path";
import fc from "fast-check";
import { describe, it } from "vitest";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { createTempDir } from "../temp-dir.js";
import { COMMANDS, type Real } from "./commands.js";
import { createReference } from "./reference.js";
import { createStage } from "./stage.js";

/** An engine on each store against the reference, under any sequence of operations; so many seconds for each. */
export function modelSuite(seconds: number): void {
  describe("any sequence of what clients and agents do (S2-02 S2-03 S2-04 S2-05 S2-10)", () => {
    const dir = createTempDir();
    let count = 0;
    itBehavesLikeTheReference("memory", seconds, {
      open: createMemoryStore,
      reopen: async (store) => store,
    });
    itBehavesLikeTheReference("SQLite", seconds, {
      open: () => createSqliteStore({ path: join(dir, `${++count}.db`) }),
      async reopen(store) {
        await store.close();
        return createSqliteStore({ path: join(dir, `${count}.db`) });
      },
    });
  });
}

interface Opening {
  open(): FullTaskStore;
  /** The store of the next process. */
  reopen(store: FullTaskStore): Promise<FullTaskStore>;
}

function itBehavesLikeTheReference(name: string, seconds: number, { open, reopen }: Opening): void {
  it(`behaves like the reference on ${name}`, { timeout: (30 + seconds) * 1_000 }, async () => {
    const commands = fc.commands([...COMMANDS], { maxCommands: 80, size: "max" });
    const property = fc.asyncProperty(commands, async (sequence) => {
      const stage = createStage(open(), reopen);
      const real: Real = { stage, sent: [], blocked: [], watched: [] };
      try {
        await fc.asyncModelRun(() => ({ model: createReference(), real }), sequence);
      } finally {
        await stage.close();
      }
    });
    await fc.assert(property, { interruptAfterTimeLimit: seconds * 1_000, numRuns: 1_000_000 });
  });
}
