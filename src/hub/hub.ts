import type { Entry } from "../protocol/entry.js";

/** Who is woken. Must not throw and not wait. */
export interface Listener {
  /** Called with entries that were just committed, in order; without them when the store itself must be looked into. */
  wake(entries?: readonly Entry[]): void;
}

/** A listener at a key. One that subscribes twice is woken twice. */
export interface Subscription {
  /** From now on the listener is not woken any more, however often it says so. */
  close(): void;
}

/** Live wake-ups between the writer of a log and its readers. Delivery is a hint: the store is the truth. */
export interface Hub {
  publish(key: string, entries: readonly Entry[]): void;
  /** Wakes the listener for `key` from when the promise resolves. */
  subscribe(key: string, listener: Listener): Promise<Subscription>;
}
