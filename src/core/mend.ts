import { setTimeout as delay } from "node:timers/promises";
import { TaskState } from "../protocol/schema.js";
import { phaseOf } from "../protocol/task.js";
import type { Scope, Snapshot, TaskStore } from "../stores/task-store.js";
import type { Log } from "./log.js";
import { textPart } from "./run.js";
import { stateOf, statusUpdate } from "./stamp.js";
import { TaskWriter } from "./writer.js";

/** Ends tasks whose run is no more. */
export interface Mender {
  /** Records FAILED with this text. Rejects when the store fails, and with TaskConflict when the log has moved on. */
  fail(scope: Scope, snapshot: Snapshot, text: string): Promise<void>;
  /**
   * For a task whose run could not be recorded to its end: it would stay SUBMITTED or WORKING for ever, so it is
   * made FAILED once the store is back. Never rejects.
   */
  mend(scope: Scope, taskId: string): Promise<void>;
  /** Gives up what is still to be mended: the next start of the gateway finds it. */
  stop(): void;
}

export interface MenderOptions {
  readonly store: TaskStore;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  now(): number;
}

const NOT_RECORDED = "The progress of this task could not be recorded.";
/** Pauses before each try, milliseconds; the last one repeats. */
const DELAYS_MS = [100, 1000, 5000] as const;

export function createMender({ store, log, now }: MenderOptions): Mender {
  let stopped = false;

  async function fail(scope: Scope, snapshot: Snapshot, text: string): Promise<void> {
    const { id, contextId } = snapshot.task;
    const writer = new TaskWriter({ log, scope, taskId: id, from: snapshot });
    void writer.append(statusUpdate({ taskId: id, contextId, now }, TaskState.FAILED, [textPart(text)]));
    await writer.durable();
  }

  async function isMended(scope: Scope, taskId: string): Promise<boolean> {
    try {
      const snapshot = await store.get(scope, taskId);
      if (snapshot !== undefined && phaseOf(stateOf(snapshot.task)) === "open") {
        await fail(scope, snapshot, NOT_RECORDED);
      }
      return true;
    } catch {
      return false; // that the store fails was reported when the run was lost
    }
  }

  return {
    fail,
    async mend(scope, taskId) {
      for (let tries = 0; !stopped; tries += 1) {
        await delay(DELAYS_MS[tries] ?? DELAYS_MS[2], undefined, { ref: false });
        if (stopped || (await isMended(scope, taskId))) return;
      }
    },
    stop() {
      stopped = true;
    },
  };
}
