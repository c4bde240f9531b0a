import { TaskState } from "../../../src/protocol/schema.js";

/** Tasks of one context. */
export const CONTEXT_TASKS = 200;
/** Status time of the first task; each further one is a millisecond later. */
export const FIRST_MS = Date.UTC(2026, 0, 1);
/** States in turn: none that a gateway would take up again at its start. */
export const STATES: readonly TaskState[] = [
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.INPUT_REQUIRED,
  TaskState.CANCELED,
];
