import { type AbortState, endReason } from "../../protocol/ending.js";

/**
 * Reads a stream until it ends, fails, or the call is aborted: then a waiting `next` rejects with the reason at
 * once and the stream is closed, whatever it is in the middle of. `return` does not wait for the stream either.
 */
export class UntilAborted<T> implements AsyncIterator<T> {
  readonly #source: AsyncIterator<T>;
  readonly #caller: AbortState;
  #open = true;
  #aborted = false;
  /** Settles a `next` that waits. */
  #settle: ((step: IteratorResult<T> | Promise<IteratorResult<T>>) => void) | undefined;

  constructor(events: AsyncIterable<T>, caller: AbortState) {
    this.#source = events[Symbol.asyncIterator]();
    this.#caller = caller;
    if (caller.aborted) this.handleEvent();
    else caller.addEventListener("abort", this);
  }

  next(): Promise<IteratorResult<T>> {
    if (!this.#open) return this.#ended();
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#source.next().then(
        (step) => this.#answer(step, step.done === true),
        (thrown) => this.#answer(Promise.reject(thrown), true),
      );
    });
  }

  async return(): Promise<IteratorResult<T>> {
    this.#close();
    return { done: true, value: undefined };
  }

  /** The call was aborted. */
  handleEvent(): void {
    this.#aborted = true;
    this.#close();
  }

  #answer(step: IteratorResult<T> | Promise<IteratorResult<T>>, isLast: boolean): void {
    const settle = this.#settle;
    if (settle === undefined) return; // closed meanwhile
    this.#settle = undefined;
    if (isLast) this.#close();
    settle(step);
  }

  #ended(): Promise<IteratorResult<T>> {
    return this.#aborted
      ? Promise.reject(endReason(this.#caller))
      : Promise.resolve({ done: true, value: undefined });
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#caller.removeEventListener("abort", this);
    this.#settle?.(this.#ended());
    this.#settle = undefined;
    // How a stream ends that nobody reads any more is no news.
    this.#source.return?.().catch(() => undefined);
  }
}
