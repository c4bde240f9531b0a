import { A2AError } from "../errors.js";
import type { TaskStatus } from "../protocol/schema.js";
import type { TaskWrite } from "./task-store.js";

const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;

/** Time of a status, whole milliseconds since the epoch, within the years 1 to 9999; 0 when it has none. */
export function statusMsOf(status: TaskStatus | undefined): number {
  const timestamp = status?.timestamp;
  if (!timestamp) return 0;
  const seconds = Math.min(Math.max(Number(timestamp.seconds), MIN_SECONDS), MAX_SECONDS);
  return seconds * 1000 + Math.trunc(timestamp.nanos / 1_000_000);
}

/** Throws INTERNAL for a write that no correct writer makes. */
export function checkTaskWrite({ entries, expectedSeq }: TaskWrite): void {
  if (entries.length === 0) throw wrong("it has no entries");
  if (entries.some((entry, index) => entry.seq !== expectedSeq + index + 1)) {
    throw wrong(`its entries do not follow seq ${expectedSeq}`);
  }
}

/** What a store that was closed answers. */
export function storeClosed(): A2AError {
  return new A2AError("UNAVAILABLE", { cause: new Error("the task store is closed") });
}

function wrong(what: string): A2AError {
  return A2AError.from(new Error(`malformed write: ${what}`));
}
