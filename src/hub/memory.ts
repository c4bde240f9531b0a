import { Registry } from "../protocol/registry.js";
import type { Hub, Listener, Subscription } from "./hub.js";

/** Those who listen to one key; most keys have one listener, for whom a set would be four times the memory. */
type Subscribed = LocalSubscription | Set<LocalSubscription>;

/** A hub within one process. Keeps nothing of a key that nobody listens to. */
export function createMemoryHub(): Hub {
  const byKey: Subscriptions = new Registry();
  return {
    publish(key, entries) {
      const subscribed = byKey.get(key);
      if (subscribed === undefined) return;
      if (!(subscribed instanceof Set)) {
        subscribed.listener.wake(entries);
        return;
      }
      // A wake may end or start subscriptions: those that ended are not called any more, new ones not yet.
      for (const subscription of [...subscribed]) {
        if (subscribed.has(subscription)) subscription.listener.wake(entries);
      }
    },
    async subscribe(key, listener) {
      const subscription = new LocalSubscription(byKey, key, listener);
      const others = byKey.get(key);
      if (others === undefined) byKey.set(key, subscription);
      else if (others instanceof Set) others.add(subscription);
      else byKey.set(key, new Set([others, subscription]));
      return subscription;
    },
  };
}

type Subscriptions = Registry<string, Subscribed>;

class LocalSubscription implements Subscription {
  readonly listener: Listener;
  readonly #byKey: Subscriptions;
  readonly #key: string;

  constructor(byKey: Subscriptions, key: string, listener: Listener) {
    this.listener = listener;
    this.#byKey = byKey;
    this.#key = key;
  }

  close(): void {
    const subscribed = this.#byKey.get(this.#key);
    if (subscribed === this) this.#byKey.delete(this.#key);
    else if (subscribed instanceof Set && subscribed.delete(this) && subscribed.size === 0) {
      this.#byKey.delete(this.#key);
    }
  }
}
