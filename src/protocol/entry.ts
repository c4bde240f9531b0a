import { WireEvent } from "./event.js";

/**
 * One line of a task's log. Its content is a StreamResponse: `task` opens the log, `statusUpdate` and
 * `artifactUpdate` are what the agent did, `message` is a user's message that joined the history (and is
 * no wire event: `event.number` is 0).
 */
export interface Entry {
  /** Position in the log, from 1 without gaps. */
  readonly seq: number;
  readonly event: WireEvent;
}

/** An entry as a store keeps it. */
export function entryFromBinary(seq: number, number: number, binary: Uint8Array): Entry {
  return { seq, event: WireEvent.fromBinary(binary, number) };
}
