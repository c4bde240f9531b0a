import { type CpuUse, cpuBetween, readCpu } from "./host.js";
import type { Load } from "./load.js";
import type { Tally } from "./loops.js";
import type { RequestSpec } from "./request.js";
import type { Server } from "./server.js";

/** One thing to measure. */
export interface Candidate {
  readonly name: string;
  readonly server: Server;
  readonly request: RequestSpec;
}

/** What the rounds of one candidate came to. */
export interface Figure {
  readonly name: string;
  /** CPU time of the server for one call: the least of the rounds. Microseconds. */
  readonly cpuUs: number;
  /** How far the worst round is above the least, as a share of it. */
  readonly spread: number;
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Body bytes of one answer. */
  readonly bytes: number;
  readonly events: number;
  /** Share of the server's core that other processes took in the round that counts. */
  readonly others: number;
  /** Share of its core that the generator used; near 1 it is the bottleneck, which leaves the CPU figure right. */
  readonly generator: number;
}

export interface RoundOptions {
  /** Calls in flight. Default 32. */
  readonly inFlight?: number;
  /** Length of a round. Default 2 s. */
  readonly ms?: number;
  /** Calls before the first round, so that what is measured is compiled. Default 4000. */
  readonly warmCalls?: number;
  /** Default 5. */
  readonly rounds?: number;
  /** Rounds that may be run again in all because others used the core. Default 12. */
  readonly repeats?: number;
}

/** Above this share of other processes a round is run again. */
export const NOISE = 0.05;

interface Round {
  readonly tally: Tally;
  readonly use: CpuUse;
  readonly generatorMs: number;
}

/**
 * Measures candidates in turn, round after round, so that a slow spell of the machine falls on all of them.
 * Throws when a call fails.
 */
export async function measure(
  load: Load,
  candidates: readonly Candidate[],
  options: RoundOptions = {},
): Promise<Figure[]> {
  const { inFlight = 32, ms = 2000, warmCalls = 4000, rounds = 5 } = options;
  let repeats = options.repeats ?? 12;
  const seen = candidates.map((): Round[] => []);
  for (const candidate of candidates) await warm(load, candidate, inFlight, warmCalls);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, candidate] of candidates.entries()) {
      let result = await runRound(load, candidate, inFlight, ms);
      while (result.use.others > NOISE && repeats > 0) {
        repeats -= 1;
        const again = await runRound(load, candidate, inFlight, ms);
        if (again.use.others < result.use.others) result = again;
      }
      seen[index]?.push(result);
    }
  }
  return candidates.map(({ name }, index) => figureOf(name, seen[index] as Round[]));
}

/** A slow server is warm enough after some seconds. */
const WARM_MS = 5000;

async function warm(load: Load, candidate: Candidate, inFlight: number, calls: number): Promise<void> {
  const end = performance.now() + WARM_MS;
  for (let seen = 0; seen < calls && performance.now() < end; ) {
    seen += (await runRound(load, candidate, inFlight, 250)).tally.calls;
  }
}

async function runRound(load: Load, candidate: Candidate, inFlight: number, ms: number): Promise<Round> {
  const { server, request, name } = candidate;
  const before = readCpu(server.pid);
  const { generatorMs, ...tally } = await load.closed(request, inFlight, ms);
  const use = cpuBetween(before, readCpu(server.pid));
  const { failures, calls, failure } = tally;
  if (failures > 0) throw new Error(`${name}: ${failures} of ${calls} calls failed: ${failure}`);
  return { tally, use, generatorMs };
}

const costOf = ({ use, tally }: Round): number => (use.ownMs * 1000) / tally.calls;

function figureOf(name: string, rounds: readonly Round[]): Figure {
  const sorted = [...rounds].sort((one, other) => costOf(one) - costOf(other));
  const least = sorted[0] as Round;
  const worst = sorted[sorted.length - 1] as Round;
  const { tally, use, generatorMs } = least;
  return {
    name,
    cpuUs: costOf(least),
    spread: costOf(worst) / costOf(least) - 1,
    callsPerSecond: (tally.calls * 1000) / tally.elapsedMs,
    p50Ms: tally.p50Ms,
    p99Ms: tally.p99Ms,
    bytes: tally.bytes / tally.calls,
    events: tally.events / tally.calls,
    others: use.others,
    generator: generatorMs / tally.elapsedMs,
  };
}
