import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { AgentEntry, Principal } from "../agents/agent.js";
import type { A2AError } from "../errors.js";
import type { AbortState } from "../protocol/ending.js";
import type { WireEvent } from "../protocol/event.js";
import type { Scope } from "../stores/task-store.js";

/** The wire that a call came over; also the label in logs and metrics. */
export type Wire = "grpc" | "grpc-web" | "connect" | "jsonrpc" | "rest";

/** A header or metadata value by its name in lower case; repeated ones joined with `, `. */
export type Parameters = (name: string) => string | undefined;

/** Bytes of a call, counted by its binding. `sent` may still grow while a stream runs. */
export interface Traffic {
  received: number;
  sent: number;
}

/** What a binding knows about one invocation when it hands it to the dispatcher. */
export interface Call {
  readonly wire: Wire;
  readonly method: DescMethod;
  /** The decoded request, of `method.input`. */
  readonly request: Message;
  /** Tenant that the address names outside the message (JSON-RPC at `/{tenant}`). */
  readonly addressTenant?: string | undefined;
  readonly parameters: Parameters;
  /** `A2A-Version` from the query string (specification 3.6.1). */
  readonly queryVersion?: string | undefined;
  /** Version that the address itself states (Connect, gRPC: the package name). */
  readonly impliedVersion?: string | undefined;
  /** Aborts when the caller goes away or the deadline passes; its reason is an A2AError in the second case. */
  readonly caller: AbortState;
  /** The same as an AbortSignal. */
  readonly signal: AbortSignal;
  readonly traffic: Traffic;
}

/** What is known about one invocation once it passed the waist. */
export interface CallContext {
  readonly requestId: string;
  readonly wire: Wire;
  readonly method: DescMethod;
  /** Protocol version as Major.Minor. */
  readonly version: string;
  readonly entry: AgentEntry;
  readonly principal: Principal;
  readonly scope: Scope;
  /** URIs of the extensions that are active: asked for and offered by the agent. */
  readonly extensions: readonly string[];
  readonly parameters: Parameters;
  /** Aborts as that of the call. */
  readonly caller: AbortState;
  /** The same as an AbortSignal. */
  readonly signal: AbortSignal;
}

/** Headers of an answer, names in lower case (`a2a-extensions`, `switchyard-event-id`). */
export type ReplyHeaders = Readonly<Record<string, string>>;

/**
 * The answer to a call. A stream's `events` may reject at the first `next`: no event has been sent then, and
 * the binding answers with a plain error. Returning from the iterator early ends the reader, never the run.
 */
export type Reply =
  | { readonly kind: "unary"; readonly message: Message; readonly headers: ReplyHeaders }
  | { readonly kind: "stream"; readonly events: AsyncIterable<WireEvent>; readonly headers: ReplyHeaders };

/** The waist: everything that holds on every wire. Rejects with A2AError only. */
export interface Dispatcher {
  /** True when an agent is served at this tenant. */
  hasTenant(tenant: string): boolean;
  /** Reports a call that failed before it could be dispatched, so that it is logged and counted like any other. Returns the error to send. */
  refuse(
    refused: Pick<Call, "wire" | "traffic"> & { readonly method?: DescMethod },
    thrown: unknown,
  ): A2AError;
  call(call: Call): Promise<Reply>;
}
