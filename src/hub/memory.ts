import { Registry } from "../protocol/registry.js";
import type { Hub, Wake } from "./hub.js";

/** An object of its own for each subscription, so that one function may subscribe twice. */
interface Subscription {
  readonly wake: Wake;
}

/** A hub within one process. Keeps nothing of a key that nobody listens to. */
export function createMemoryHub(): Hub {
  const byKey = new Registry<string, Set<Subscription>>();

  function remove(key: string, subscription: Subscription): void {
    const subscriptions = byKey.get(key);
    if (subscriptions?.delete(subscription) && subscriptions.size === 0) byKey.delete(key);
  }

  return {
    publish(key, entries) {
      const subscriptions = byKey.get(key);
      if (!subscriptions) return;
      // A wake may end or start subscriptions: those that ended are not called any more, new ones not yet.
      for (const subscription of [...subscriptions]) {
        if (subscriptions.has(subscription)) subscription.wake(entries);
      }
    },
    async subscribe(key, wake) {
      const subscriptions = byKey.get(key) ?? new Set();
      byKey.set(key, subscriptions);
      const subscription = { wake };
      subscriptions.add(subscription);
      return () => remove(key, subscription);
    },
  };
}
