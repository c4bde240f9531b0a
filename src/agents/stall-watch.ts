import { startThread } from "../threads.js";

/** An agent whose code may keep the process from doing anything else. */
export interface WatchedAgent {
  readonly tenant: string;
  /** Absolute path of its module. */
  readonly file: string;
}

/** What the watching thread starts with. */
export interface StallWatchData {
  /** One number that the main thread counts up while it is alive. */
  readonly beat: Int32Array;
  readonly stallMs: number;
}

/** Watches over the main thread. */
export interface StallWatch {
  /** Agents to look for when the main thread stands still; replaces those named before. */
  watch(agents: readonly WatchedAgent[]): void;
  stop(): Promise<void>;
}

/** How a stall watch reports. */
export interface StallWatchOptions {
  /** How long the main thread may do nothing else before the log says so. Milliseconds. */
  readonly stallMs: number;
  /** Called when the watching thread itself fails; nothing is watched from then on. */
  onFault(cause: unknown): void;
}

/** The part of `stallMs` after which the main thread shows that it is alive. */
const BEATS = 10;

/**
 * Starts a thread that writes a line to standard error, in the form of the log, when the main thread is kept
 * busy by synchronous code, and names the agent whose code is running. The main thread itself cannot say so.
 */
export function createStallWatch({ stallMs, onFault }: StallWatchOptions): StallWatch {
  const beat = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const timer = setInterval(() => Atomics.add(beat, 0, 1), stallMs / BEATS).unref();
  const data: StallWatchData = { beat, stallMs };
  const worker = startThread(new URL("./stall-worker", import.meta.url), data).on("error", onFault);
  return {
    watch: (agents) => worker.postMessage(agents),
    async stop() {
      clearInterval(timer);
      await worker.terminate();
    },
  };
}
