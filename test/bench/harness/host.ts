import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus, release } from "node:os";

/** Core of the measured server. */
export const SERVER_CORE = 0;
/** Core of the load generator. */
export const LOAD_CORE = 1;

const TICK_MS = 1000 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** CPU time at one moment; differences of two readings are what counts. */
export interface CpuReading {
  /** User and system time of the process and all its threads. */
  readonly ownMs: number;
  /** Time that the server's core worked for any process. */
  readonly coreMs: number;
  readonly atMs: number;
}

/** Between two readings. */
export interface CpuUse {
  readonly ownMs: number;
  readonly elapsedMs: number;
  /** Share of the core that other processes took, from 0 to 1. */
  readonly others: number;
}

export function readCpu(pid: number): CpuReading {
  return { ownMs: processMs(pid), coreMs: readCore(SERVER_CORE), atMs: performance.now() };
}

export function cpuBetween(from: CpuReading, to: CpuReading): CpuUse {
  const ownMs = to.ownMs - from.ownMs;
  const elapsedMs = to.atMs - from.atMs;
  const others = Math.max(0, (to.coreMs - from.coreMs - ownMs) / elapsedMs);
  return { ownMs, elapsedMs, others };
}

/** Nanoseconds on a core, thread by thread (Documentation/scheduler/sched-stats.rst); finer than the ticks of `stat`. */
function processMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((total, thread) => total + threadNs(pid, thread), 0) / 1e6;
}

/** A thread may end between two looks. */
function threadNs(pid: number, thread: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]);
  } catch {
    return 0;
  }
}

/**
 * Milliseconds that a core worked for any process, or was taken away. Without interrupts: the kernel does the
 * loopback's work there, whoever it is for.
 */
export function readCore(core: number): number {
  const line = readFileSync("/proc/stat", "latin1")
    .split("\n")
    .find((text) => text.startsWith(`cpu${core} `));
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = (line ?? "").split(" ").slice(1).map(Number);
  return (user + nice + system + steal) * TICK_MS;
}

/** Resident memory of a process. */
export function residentBytes(pid: number): number {
  const [, kibibytes = "0"] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return Number(kibibytes) * 1024;
}

/** What a table must say about where it was made. */
export function describeHost(): string {
  const [cpu] = cpus();
  return `${cpu?.model.trim()}, ${cpus().length} cores, Linux ${release()}, Node ${process.versions.node}`;
}

const PACKAGES = [
  "@a2a-js/sdk",
  "@grpc/grpc-js",
  "@connectrpc/connect-node",
  "@bufbuild/protobuf",
  "express",
  "better-sqlite3",
];

/** The packages that a figure depends on, with their versions. */
export function describePackages(): string {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version: string }>>;
  };
  return PACKAGES.map((name) => `${name} ${lock.packages[`node_modules/${name}`]?.version}`).join(", ");
}
