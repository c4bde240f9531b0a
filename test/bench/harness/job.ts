import type { RequestSpec } from "./request.js";

/** What the generator is told to do. */
export type Job =
  /** As many calls as go through with some in flight. */
  | { readonly kind: "closed"; readonly request: RequestSpec; readonly inFlight: number; readonly ms: number }
  /** Calls at a constant rate. */
  | { readonly kind: "paced"; readonly request: RequestSpec; readonly perSecond: number; readonly ms: number }
  /** One call, whose answer is wanted. */
  | { readonly kind: "once"; readonly request: RequestSpec }
  /** Opens streams and leaves them open; resolves when each has brought its first event. */
  | { readonly kind: "hold"; readonly request: RequestSpec; readonly streams: number }
  /** Makes one call and waits until all held streams have ended. */
  | { readonly kind: "release"; readonly request: RequestSpec }
  /** Breaks all held streams. */
  | { readonly kind: "drop" };

/** What came of held streams. */
export interface Released {
  /** From the releasing call until the last stream ended. */
  readonly elapsedMs: number;
  readonly events: number;
  readonly failures: number;
  readonly bytes: number;
}
