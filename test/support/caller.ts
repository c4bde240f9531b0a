import { CallEnding, type Caller } from "../../src/protocol/ending.js";

/** A caller who leaves when the test says so. */
class FollowingCaller extends CallEnding {
  constructor(signal: AbortSignal) {
    super();
    const follow = () => this.endNow(signal.reason);
    if (signal.aborted) follow();
    else signal.addEventListener("abort", follow, { once: true });
  }
}

export function callerOf(signal: AbortSignal): Caller {
  return new FollowingCaller(signal);
}
