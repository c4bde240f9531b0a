import { A2AError } from "../errors.js";
import type { Message } from "../protocol/schema.js";

/** Messages that reach a running turn. One reader; what nobody reads waits, up to `limit`. */
export interface Inbox extends AsyncIterable<Message> {
  /** RESOURCE_EXHAUSTED when `limit` messages wait already. */
  push(message: Message): void;
  /** Ends the reader once it has read what is there. */
  end(): void;
}

/** @param limit unread messages, default 64. */
export function createInbox(limit = 64): Inbox {
  const waiting: Message[] = [];
  let ended = false;
  let wake: (() => void) | undefined;

  function stir(): void {
    wake?.();
    wake = undefined;
  }

  async function* read(): AsyncGenerator<Message, void> {
    for (;;) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }

  return {
    push(message) {
      if (waiting.length >= limit) {
        throw new A2AError("RESOURCE_EXHAUSTED", {
          text: "The agent has not read the earlier messages yet.",
        });
      }
      waiting.push(message);
      stir();
    },
    end() {
      ended = true;
      stir();
    },
    [Symbol.asyncIterator]: read,
  };
}
