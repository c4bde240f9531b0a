import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Code, FieldViolation } from "../../../src/errors.js";
import type { HttpAddress } from "../http-client.js";

/** Numbers by which one wire states an error; those it does not use are absent. */
export interface ErrorNumbers {
  readonly grpc?: number;
  readonly jsonrpc?: number;
  readonly http?: number;
}

/** An error without the wire that it came over. */
export interface NeutralError {
  readonly code: Code;
  /** `reason` of the ErrorInfo. */
  readonly reason?: string;
  readonly message: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
  readonly retryAfterMs?: number;
  readonly errorId?: string;
  /** Not part of the neutral form: checked against the table, then left out of comparisons. */
  readonly numbers: ErrorNumbers;
}

/** Response headers or initial metadata, by name in lower case. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/** How a unary call ended. `message` is canonical ProtoJSON. */
export type Answer =
  | { readonly kind: "ok"; readonly message: JsonValue; readonly headers: AnswerHeaders }
  | { readonly kind: "error"; readonly error: NeutralError; readonly headers: AnswerHeaders };

/** What a stream did next. After `end` or `error` there is nothing more. */
export type Step =
  | {
      readonly kind: "event";
      readonly message: JsonValue;
      readonly headers: AnswerHeaders;
      /** Id of the server-sent event that it came in. */
      readonly id?: string | undefined;
    }
  | { readonly kind: "end" }
  | {
      readonly kind: "error";
      readonly error: NeutralError;
      /** True: no event came before it. */
      readonly first: boolean;
      readonly headers: AnswerHeaders;
    };

export interface WireStream {
  next(): Promise<Step>;
  /** The client goes away. */
  cancel(): void;
}

export interface AskOptions {
  /** Service parameters: HTTP headers, gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `A2A-Version` header: `null` sends none; unset sends `1.0` where the wire needs one. */
  readonly version?: string | null;
  /** `A2A-Version` in the query string; wires without one ignore it. */
  readonly queryVersion?: string;
  /** Tenant in the address (JSON-RPC, REST), whatever the message says. */
  readonly addressTenant?: string;
  readonly timeoutMs?: number;
}

export interface WireClient {
  call(method: string, request: JsonObject, options?: AskOptions): Promise<Answer>;
  stream(method: string, request: JsonObject, options?: AskOptions): WireStream;
  close(): Promise<void>;
}

export interface WireAddresses {
  readonly http: HttpAddress;
  readonly grpc: HttpAddress;
}

export type WireTag = "json" | "protobuf" | "rpc" | "jsonrpc" | "rest";

/** One way to reach a gateway. */
export interface Wire {
  readonly name: string;
  /**
   * `json` can say what protobuf cannot (unknown enum names, wrong types), `protobuf` cannot; `rpc` implies a
   * version by its address, `jsonrpc` and `rest` do not; `rest` has ids and the tenant in the path.
   */
  readonly tags: readonly WireTag[];
  connect(addresses: WireAddresses): WireClient;
}

/** A stream out of a generator of steps, which is told by `signal` that the client goes away. */
export function streamOf(open: (signal: AbortSignal) => AsyncGenerator<Step, void>): WireStream {
  const leaving = new AbortController();
  const steps = open(leaving.signal);
  return {
    next: async () => {
      try {
        const step = await steps.next();
        return step.done ? { kind: "end" } : step.value;
      } catch (error) {
        if (leaving.signal.aborted) return { kind: "end" };
        throw error;
      }
    },
    cancel: () => leaving.abort(),
  };
}
