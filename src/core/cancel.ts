import { A2AError } from "../errors.js";
import { abortable } from "../protocol/ending.js";
import { checkId } from "../protocol/ids.js";
import type { CancelTaskRequest, Task } from "../protocol/schema.js";
import { TaskState } from "../protocol/schema.js";
import { phaseOf } from "../protocol/task.js";
import type { Scope, Snapshot, TaskStore } from "../stores/task-store.js";
import type { CallContext } from "./context.js";
import type { Log } from "./log.js";
import type { Runs } from "./runs.js";
import { stateOf, statusUpdate } from "./stamp.js";
import { TaskConflict, TaskWriter } from "./writer.js";

export interface CancellerOptions {
  readonly store: TaskStore;
  readonly log: Log;
  readonly runs: Runs;
  /** How long an agent may take to stop. Default 3000. */
  readonly cancelGraceMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Ends tasks at a caller's wish (specification 3.1.5). */
export interface Canceller {
  /**
   * Resolves with the CANCELED task, also when it was canceled before. TASK_NOT_FOUND for an unknown one,
   * TASK_NOT_CANCELABLE for one that ended otherwise, be it while this call waited.
   */
  cancel(context: CallContext, request: CancelTaskRequest): Promise<Task>;
}

export function createCanceller(options: CancellerOptions): Canceller {
  const { store, log, runs, cancelGraceMs = 3000, now = Date.now } = options;

  /** False when someone else wrote first. */
  async function record(scope: Scope, from: Snapshot): Promise<boolean> {
    const { id, contextId } = from.task;
    const writer = new TaskWriter({ log, scope, taskId: id, from });
    void writer.append(statusUpdate({ taskId: id, contextId, now }, TaskState.CANCELED));
    try {
      await writer.durable();
      return true;
    } catch (error) {
      if (error instanceof TaskConflict) return false;
      throw error;
    }
  }

  return {
    async cancel(context, request) {
      checkId("id", request.id);
      const { scope, caller } = context;
      for (;;) {
        const snapshot = await store.get(scope, request.id);
        if (snapshot === undefined)
          throw new A2AError("TASK_NOT_FOUND", { metadata: { taskId: request.id } });
        const state = stateOf(snapshot.task);
        if (state === TaskState.CANCELED) return snapshot.task;
        if (phaseOf(state) === "terminal")
          throw new A2AError("TASK_NOT_CANCELABLE", { metadata: { taskId: request.id } });
        const run = runs.find(scope, request.id);
        if (run === undefined) await record(scope, snapshot);
        else await abortable(run.cancel(request.metadata ?? {}, cancelGraceMs), caller);
      }
    },
  };
}
