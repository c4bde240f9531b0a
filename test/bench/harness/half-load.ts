import { cpuBetween, LOAD_CORE, readCore, readCpu } from "./host.js";
import type { Load } from "./load.js";
import { type Candidate, measure, NOISE } from "./rounds.js";

/** Calls at a constant rate. */
export interface Pace {
  readonly candidate: Candidate;
  readonly perSecond: number;
}

/** What the tries at a pace came to. */
export interface PacedFigure {
  readonly name: string;
  readonly perSecond: number;
  /** Of the try with the least p99, as is what follows. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The highest p99 of the tries that count, divided by the least. */
  readonly spread: number;
  /** Tries that do not count. When it is all of them, the figures are those of the best one anyway. */
  readonly discarded: number;
  readonly tries: number;
}

/** Calls in flight while the capacity is looked at. */
const IN_FLIGHT = 32;
const LOOK_MS = 250;
const PACED_MS = 2200;
const TRIES = 4;
/** A server that gets through less than so many times the rate was slowed down: the load was not the half. */
const HEADROOM = 1.3;

interface Try {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly counts: boolean;
}

/**
 * Half of the rate that each candidate's CPU cost allows on one core: the least cost of some short rounds, which
 * unlike what went through in a certain second is the same in every one.
 */
export async function halfPaces(load: Load, candidates: readonly Candidate[]): Promise<Pace[]> {
  const figures = await measure(load, candidates, { ms: 500, rounds: 3, warmCalls: 3000, repeats: 0 });
  return candidates.map((candidate, index) => ({
    candidate,
    perSecond: 500_000 / (figures[index]?.cpuUs ?? Number.NaN),
  }));
}

/** Tries all paces in turn, several times over, so that a slow spell of the machine falls on all of them. */
export async function measurePaces(load: Load, paces: readonly Pace[]): Promise<PacedFigure[]> {
  const seen = paces.map((): Try[] => []);
  for (let round = 0; round < TRIES; round += 1) {
    for (const [index, pace] of paces.entries()) seen[index]?.push(await tryPace(load, pace));
  }
  return paces.map((pace, index) => figureOf(pace, seen[index] as Try[]));
}

async function tryPace(load: Load, { candidate, perSecond }: Pace): Promise<Try> {
  const { server, request } = candidate;
  const before = await capacity(load, candidate);
  const [cpu, core] = [readCpu(server.pid), readCore(LOAD_CORE)];
  const { p50Ms, p99Ms, failures, generatorMs, elapsedMs } = await load.paced(request, perSecond, PACED_MS);
  const { others } = cpuBetween(cpu, readCpu(server.pid));
  const othersOfLoad = (readCore(LOAD_CORE) - core - generatorMs) / elapsedMs;
  const least = Math.min(before, await capacity(load, candidate));
  const isQuiet = Math.max(others, othersOfLoad) <= NOISE;
  const counts = isQuiet && failures === 0 && least >= HEADROOM * perSecond;
  return { p50Ms, p99Ms, counts };
}

async function capacity(load: Load, { request }: Candidate): Promise<number> {
  const { calls, elapsedMs } = await load.closed(request, IN_FLIGHT, LOOK_MS);
  return (calls * 1000) / elapsedMs;
}

function figureOf({ candidate: { name }, perSecond }: Pace, tries: readonly Try[]): PacedFigure {
  const counting = tries.filter(({ counts }) => counts);
  const sorted = [...(counting.length > 0 ? counting : tries)].sort((one, other) => one.p99Ms - other.p99Ms);
  const { p50Ms, p99Ms } = sorted[0] as Try;
  const spread = (sorted[sorted.length - 1] as Try).p99Ms / p99Ms;
  const discarded = tries.length - counting.length;
  return { name, perSecond, p50Ms, p99Ms, spread, discarded, tries: tries.length };
}
