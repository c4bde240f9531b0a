import type { Wire } from "./context.js";

/** What is recorded of a call once it is over. No content, no secrets. */
export interface CallRecord {
  readonly requestId: string;
  readonly wire: Wire;
  /** RPC method name; `""` when the call failed before it was known. */
  readonly method: string;
  readonly tenant: string;
  readonly principal: string;
  /** Id of the task that the call was about, where it is known. */
  readonly taskId: string;
  /** gRPC status name, `OK` included. */
  readonly code: string;
  /** Key of the error table; `""` for a success. */
  readonly reason: string;
  readonly durationMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** True when the call was answered with a stream. */
  readonly stream: boolean;
  /** Events of a stream; 0 for unary calls. */
  readonly events: number;
  /** Set when the error was one of ours to look into, like `cause`. */
  readonly errorId: string | undefined;
  readonly cause: unknown;
}

/** Who is told about calls: the access log, metrics. Must not throw. */
export interface CallObserver {
  streamOpened?(wire: Wire, method: string): void;
  /** An event of a stream is handed to its wire. */
  eventSent?(wire: Wire): void;
  callEnded(record: CallRecord): void;
}
