import { A2AError } from "../errors.js";

/** The reason of every call that a drain ends or does not take. */
export function shuttingDown(): A2AError {
  return new A2AError("UNAVAILABLE", { text: "The gateway is shutting down." });
}

/** True when the work is done within this time. The work goes on either way. */
export async function settles(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls that a drain waits for. */
export interface OpenWork {
  /** Resolves when nothing is open. */
  idle(): Promise<void>;
  /** Ends what is open with this reason. */
  interrupt(reason: A2AError): void;
}

/** Gives calls this long, and after that a moment to end with UNAVAILABLE. False: some have not ended even then. */
export async function endCalls(calls: OpenWork, graceMs: number): Promise<boolean> {
  if (await settles(calls.idle(), graceMs)) return true;
  calls.interrupt(shuttingDown());
  return await settles(calls.idle(), FAREWELL_MS);
}

/** How long the wires have to say UNAVAILABLE when a drain ends their calls. Milliseconds. */
export const FAREWELL_MS = 1_000;
