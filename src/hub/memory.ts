import { Groups } from "../protocol/registry.js";
import type { Hub, Listener, Subscription } from "./hub.js";

/** A hub within one process. Keeps nothing of a key that nobody listens to. */
export function createMemoryHub(): Hub {
  const subscribed = new Groups<LocalSubscription>();
  return {
    publish(key, entries) {
      // A wake may end or start subscriptions: those that ended are not called any more, new ones not yet.
      for (const one of subscribed.of(key)) {
        if (subscribed.has(key, one)) one.listener.wake(entries);
      }
    },
    async subscribe(key, listener) {
      const subscription = new LocalSubscription(subscribed, key, listener);
      subscribed.add(key, subscription);
      return subscription;
    },
  };
}

/** An object of its own for each subscription, so that one listener may subscribe twice. */
class LocalSubscription implements Subscription {
  readonly listener: Listener;
  readonly #subscribed: Groups<LocalSubscription>;
  readonly #key: string;

  constructor(subscribed: Groups<LocalSubscription>, key: string, listener: Listener) {
    this.listener = listener;
    this.#subscribed = subscribed;
    this.#key = key;
  }

  close(): void {
    this.#subscribed.remove(this.#key, this);
  }
}
