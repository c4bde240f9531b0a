import { A2AError } from "../errors.js";

/** Why a call's signal aborted, as the error to answer with: its own reason, or CANCELLED when the caller left. */
export function endReason(signal: AbortSignal): A2AError {
  return signal.reason instanceof A2AError ? signal.reason : new A2AError("CANCELLED");
}

/** Settles as `work` does, or rejects with the reason as soon as the signal aborts. The work goes on. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    work.catch(() => undefined); // nobody hears any more how it ends
    return Promise.reject(endReason(signal));
  }
  return new Promise<T>((resolve, reject) => {
    const leave = () => reject(endReason(signal));
    signal.addEventListener("abort", leave, { once: true });
    const stay = () => signal.removeEventListener("abort", leave);
    work.then(
      (result) => {
        stay();
        resolve(result);
      },
      (thrown) => {
        stay();
        reject(thrown);
      },
    );
  });
}
