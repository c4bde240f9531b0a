import { A2AError } from "../errors.js";
import { type AbortListener, CallEnding, type Caller } from "../protocol/ending.js";

const TIMEOUT = /^([0-9]{1,8})([HMSmun])$/;
const UNIT_MS = new Map([
  ["H", 3_600_000],
  ["M", 60_000],
  ["S", 1000],
  ["m", 1],
  ["u", 1 / 1000],
  ["n", 1 / 1_000_000],
]);

/** Longest delay that a timer of Node's takes: 24 days. A deadline beyond it never comes. */
export const LONGEST_MS = 2 ** 31 - 1;

/** A caller that may have a timer behind it. */
export interface Deadline {
  readonly caller: Caller;
  /** Ends the timer. Call it when the call is over, however it ended. */
  clear(): void;
}

/** The value of `grpc-timeout` in milliseconds, rounded up. Throws INVALID_ARGUMENT when it is no timeout. */
export function parseTimeout(text: string): number {
  const [, digits, unit = ""] = TIMEOUT.exec(text) ?? [];
  const unitMs = UNIT_MS.get(unit);
  if (digits === undefined || unitMs === undefined) {
    throw new A2AError("INVALID_ARGUMENT", {
      text: 'grpc-timeout: expected digits and a unit, such as "250m".',
    });
  }
  return Math.ceil(Number(digits) * unitMs);
}

/**
 * The caller of a call with a deadline: aborts as `parent` does, and with DEADLINE_EXCEEDED when the time is up. A time
 * beyond 24 days never is: then it is `parent` itself.
 */
export function createDeadline(parent: Caller, timeoutMs: number): Deadline {
  if (timeoutMs > LONGEST_MS) return { caller: parent, clear: () => undefined };
  const caller = new TimedCaller(parent, timeoutMs);
  return { caller, clear: () => caller.clear() };
}

class TimedCaller extends CallEnding {
  readonly #parent: Caller;
  readonly #timer: NodeJS.Timeout;
  readonly #follow: AbortListener = () => this.endNow(this.#parent.reason);

  constructor(parent: Caller, timeoutMs: number) {
    super();
    const expire = () => this.endNow(new A2AError("DEADLINE_EXCEEDED"));
    this.#parent = parent;
    this.#timer = setTimeout(expire, timeoutMs);
    if (timeoutMs === 0) expire();
    if (parent.aborted) this.endNow(parent.reason);
    else parent.addEventListener("abort", this.#follow);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }
}
