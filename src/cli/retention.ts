import type { RetentionRule } from "../core/retention.js";
import { TaskState } from "../protocol/schema.js";

/** Ages at which tasks are forgotten, as a configuration states them; `off` is for ever. */
export interface Ages {
  readonly finishedMs?: number | "off" | undefined;
  readonly waitingMs?: number | "off" | undefined;
}

/** States of tasks that wait for their user. */
const WAITING = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

/** One rule for each age that is stated. */
export function retentionRules({ finishedMs, waitingMs }: Ages): RetentionRule[] {
  return [
    ...(finishedMs === undefined ? [] : [{ maxAgeMs: toMs(finishedMs) }]),
    ...(waitingMs === undefined ? [] : [{ maxAgeMs: toMs(waitingMs), states: WAITING }]),
  ];
}

function toMs(age: number | "off"): number {
  return age === "off" ? Number.POSITIVE_INFINITY : age;
}
