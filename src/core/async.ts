import { A2AError } from "../errors.js";

/** A promise with its handles outside (Promise.withResolvers is not on Node 20). */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/** A rejection that nobody awaits yet is no unhandled one: whoever awaits later still sees it. */
export function createDeferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((ok, fail) => {
    resolve = ok;
    reject = fail;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/** Why a call's signal aborted, as the error to answer with: the deadline's, or CANCELLED when the caller left. */
export function abortError(signal: AbortSignal): A2AError {
  return signal.reason instanceof A2AError ? signal.reason : new A2AError("CANCELLED");
}

/** Settles as `promise` does, or rejects as soon as the signal aborts. What runs behind the promise goes on. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(abortError(signal));
  return new Promise<T>((resolve, reject) => {
    const leave = () => reject(abortError(signal));
    signal.addEventListener("abort", leave, { once: true });
    const settle = () => signal.removeEventListener("abort", leave);
    promise.then(resolve, reject).finally(settle);
  });
}

/** Resolves to `late` when `promise` has not settled within `ms`. */
export async function within<T, L>(promise: Promise<T>, ms: number, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<L>((resolve) => {
    timer = setTimeout(resolve, ms, late);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
