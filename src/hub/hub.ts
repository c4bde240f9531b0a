import type { Entry } from "../protocol/entry.js";

/** Called with entries that were just committed, in order; without them when the reader must look into the store itself. Must not throw and not wait. */
export type Wake = (entries?: readonly Entry[]) => void;

/** Live wake-ups between the writer of a log and its readers. Delivery is a hint: the store is the truth. */
export interface Hub {
  publish(key: string, entries: readonly Entry[]): void;
  /** Starts calling `wake` for `key` when the promise resolves; the returned function ends it. */
  subscribe(key: string, wake: Wake): Promise<() => void>;
}
