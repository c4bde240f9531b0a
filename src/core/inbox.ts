import { A2AError } from "../errors.js";
import type { Message } from "../protocol/schema.js";

/** A message that nobody has read. */
interface Waiting {
  readonly message: Message;
  readonly recorded: Promise<void>;
}

/**
 * Messages that reach a running turn. One reader; what nobody reads waits, up to a limit. A class, as `Run` is, because
 * every turn makes one.
 */
export class Inbox implements AsyncIterable<Message> {
  readonly #limit: number;
  /** Most turns get no message. */
  #waiting: Waiting[] | undefined;
  #ended = false;
  #wake: (() => void) | undefined;

  /** @param limit unread messages, default 64. */
  constructor(limit = 64) {
    this.#limit = limit;
  }

  /**
   * Resolves, and the reader gets it, once `record` has, and never when that rejects. RESOURCE_EXHAUSTED when the limit
   * is reached: `record` is not called then.
   */
  async push(message: Message, record: () => Promise<void>): Promise<void> {
    this.#waiting ??= [];
    if (this.#waiting.length >= this.#limit) {
      throw new A2AError("RESOURCE_EXHAUSTED", {
        text: "The agent has not read the earlier messages yet.",
      });
    }
    const recorded = record();
    this.#waiting.push({ message, recorded });
    this.#stir();
    await recorded;
  }

  /** Ends the reader once it has read what is there. */
  end(): void {
    this.#ended = true;
    this.#stir();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void> {
    for (;;) {
      const next = this.#waiting?.shift();
      if (next !== undefined) {
        if (await hasSettledWell(next.recorded)) yield next.message;
      } else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  #stir(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

async function hasSettledWell(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch {
    return false; // whoever pushed hears of it
  }
}
