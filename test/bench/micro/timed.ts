/** CPU of one call, in nanoseconds. */
export interface Timing {
  readonly name: string;
  readonly ns: number;
  /** How far the worst round is above the least, as a share of it. */
  readonly spread: number;
}

const ROUNDS = 5;
const ROUND_MS = 150;

/** Times a function that does its work in one go: the least CPU time of five rounds, after one to warm up. */
export function timed(name: string, call: () => unknown): Timing {
  const batch = batchOf(call);
  const rounds = Array.from({ length: ROUNDS }, () => roundOf(call, batch)).sort((one, other) => one - other);
  const [least = 0] = rounds;
  return { name, ns: least, spread: (rounds[ROUNDS - 1] as number) / least - 1 };
}

/** The same for work that takes its time, with some of it under way at once. */
export async function timedAsync(
  name: string,
  inFlight: number,
  call: () => Promise<unknown>,
): Promise<Timing> {
  await runAsync(inFlight, WARM_MS, call);
  const rounds: number[] = [];
  for (let round = 0; round < ASYNC_ROUNDS; round += 1) rounds.push(await runAsync(inFlight, ROUND_MS, call));
  rounds.sort((one, other) => one - other);
  const [least = 0] = rounds;
  return { name, ns: least, spread: (rounds.at(-1) as number) / least - 1 };
}

/** Longer than for short functions: more code has to be compiled. */
const WARM_MS = 2000;
const ASYNC_ROUNDS = 15;

/** CPU nanoseconds of a call, of calls that start within the given time. */
async function runAsync(inFlight: number, ms: number, call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  const end = performance.now() + ms;
  let calls = 0;
  const line = async () => {
    while (performance.now() < end) {
      await call();
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, line));
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / calls;
}

/** So many calls that looking at the clock does not count. */
function batchOf(call: () => unknown): number {
  let batch = 1;
  for (let took = 0; took < 5; batch *= 2) took = timeMs(call, batch);
  return batch;
}

function roundOf(call: () => unknown, batch: number): number {
  let calls = 0;
  let ms = 0;
  while (ms < ROUND_MS) {
    ms += timeMs(call, batch);
    calls += batch;
  }
  return (ms * 1e6) / calls;
}

let sink: unknown;

function timeMs(call: () => unknown, calls: number): number {
  const before = process.cpuUsage();
  for (let index = 0; index < calls; index += 1) sink = call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Hands the timings to the part that started this program. */
export function report(timings: readonly Timing[]): void {
  // Looked at, so that no call may be left out as useless.
  if (sink === report) throw new Error("unreachable");
  process.stdout.write(JSON.stringify(timings));
}
