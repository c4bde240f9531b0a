import type { Caller, Reply } from "./request.js";

/** What a loop saw. */
export interface Tally {
  readonly calls: number;
  readonly failures: number;
  /** The first failure. */
  readonly failure: string | undefined;
  readonly elapsedMs: number;
  readonly bytes: number;
  readonly events: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Keeps a number of calls in flight for a time, then lets the last ones end. */
export async function closedLoop(caller: Caller, inFlight: number, ms: number): Promise<Tally> {
  const tally = createTally();
  const end = performance.now() + ms;
  const line = async () => {
    while (performance.now() < end) await tally.time(caller.call(), performance.now());
  };
  await Promise.all(Array.from({ length: inFlight }, line));
  return tally.finish();
}

/** Calls that a paced loop has in flight at most; those that are due beyond wait, and their time runs. */
const MOST_IN_FLIGHT = 256;

/**
 * Starts calls at a constant rate, whatever the answers do; a call's time counts from when it was due. It spins
 * between two calls, since timers are no finer than a millisecond.
 */
export async function pacedLoop(caller: Caller, perSecond: number, ms: number): Promise<Tally> {
  const tally = createTally();
  const calls: Promise<void>[] = [];
  let inFlight = 0;
  const start = performance.now();
  const dueAt = (index: number) => start + (index * 1000) / perSecond;
  const total = Math.floor((perSecond * ms) / 1000);
  const call = async (due: number) => {
    inFlight += 1;
    await tally.time(caller.call(), due);
    inFlight -= 1;
  };
  while (calls.length < total) {
    const now = performance.now();
    while (calls.length < total && inFlight < MOST_IN_FLIGHT && dueAt(calls.length) <= now) {
      calls.push(call(dueAt(calls.length)));
    }
    await new Promise(setImmediate);
  }
  await Promise.all(calls);
  return tally.finish();
}

function createTally() {
  const start = performance.now();
  const times: number[] = [];
  let failures = 0;
  let failure: string | undefined;
  let bytes = 0;
  let events = 0;
  return {
    async time(reply: Promise<Reply>, from: number): Promise<void> {
      const seen = await reply;
      times.push(performance.now() - from);
      if (seen.failure !== undefined) failures += 1;
      failure ??= seen.failure;
      bytes += seen.bytes;
      events += seen.events;
    },
    finish(): Tally {
      const elapsedMs = performance.now() - start;
      const sorted = times.sort((one, other) => one - other);
      const at = (share: number) =>
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
      const quantiles = { p50Ms: at(0.5), p99Ms: at(0.99) };
      return { calls: sorted.length, failures, failure, elapsedMs, bytes, events, ...quantiles };
    },
  };
}
