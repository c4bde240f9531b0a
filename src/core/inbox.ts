import { A2AError } from "../errors.js";
import type { Message } from "../protocol/schema.js";

/** Messages that reach a running turn. One reader; what nobody reads waits, up to `limit`. */
export interface Inbox extends AsyncIterable<Message> {
  /**
   * Resolves, and the reader gets it, once `record` has, and never when that rejects. RESOURCE_EXHAUSTED when `limit`
   * messages wait already: `record` is not called then.
   */
  push(message: Message, record: () => Promise<void>): Promise<void>;
  /** Ends the reader once it has read what is there. */
  end(): void;
}

/** @param limit unread messages, default 64. */
export function createInbox(limit = 64): Inbox {
  const waiting: { readonly message: Message; readonly recorded: Promise<void> }[] = [];
  let ended = false;
  let wake: (() => void) | undefined;

  function stir(): void {
    wake?.();
    wake = undefined;
  }

  async function* read(): AsyncGenerator<Message, void> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) {
        if (await hasSettledWell(next.recorded)) yield next.message;
      } else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }

  return {
    async push(message, record) {
      if (waiting.length >= limit) {
        throw new A2AError("RESOURCE_EXHAUSTED", {
          text: "The agent has not read the earlier messages yet.",
        });
      }
      const recorded = record();
      waiting.push({ message, recorded });
      stir();
      await recorded;
    },
    end() {
      ended = true;
      stir();
    },
    [Symbol.asyncIterator]: read,
  };
}

async function hasSettledWell(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch {
    return false; // whoever pushed hears of it
  }
}
