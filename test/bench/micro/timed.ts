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
