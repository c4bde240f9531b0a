/**
 * The error table. Each condition that a caller can meet is one row; every wire renders its errors from
 * that row and from nothing else (specification 5.4, 9.5, 10.6 and 11.6).
 */

interface CodeRow {
  /** The number in `grpc-status`. */
  readonly number: number;
  /** The HTTP status that a REST caller sees, unless a row states its own. */
  readonly http: number;
}

/** gRPC status codes with the HTTP status of each, as google.rpc.Code maps them. */
export const CODES = {
  CANCELLED: { number: 1, http: 499 },
  UNKNOWN: { number: 2, http: 500 },
  INVALID_ARGUMENT: { number: 3, http: 400 },
  DEADLINE_EXCEEDED: { number: 4, http: 504 },
  NOT_FOUND: { number: 5, http: 404 },
  ALREADY_EXISTS: { number: 6, http: 409 },
  PERMISSION_DENIED: { number: 7, http: 403 },
  RESOURCE_EXHAUSTED: { number: 8, http: 429 },
  FAILED_PRECONDITION: { number: 9, http: 400 },
  ABORTED: { number: 10, http: 409 },
  OUT_OF_RANGE: { number: 11, http: 400 },
  UNIMPLEMENTED: { number: 12, http: 501 },
  INTERNAL: { number: 13, http: 500 },
  UNAVAILABLE: { number: 14, http: 503 },
  DATA_LOSS: { number: 15, http: 500 },
  UNAUTHENTICATED: { number: 16, http: 401 },
} as const satisfies Record<string, CodeRow>;

/** Name of a gRPC status code. */
export type Code = keyof typeof CODES;

interface RowInit {
  readonly code: Code;
  readonly jsonrpc: number;
  readonly text: string;
  readonly http?: number;
  /** True for the nine errors that the specification names: they carry an ErrorInfo. */
  readonly a2a?: true;
  /** The reason put on the wire when it is not the row's own. */
  readonly wireReason?: string;
}

const ROWS = {
  TASK_NOT_FOUND: { code: "NOT_FOUND", jsonrpc: -32001, text: "Task not found.", a2a: true },
  TASK_NOT_CANCELABLE: {
    code: "FAILED_PRECONDITION",
    jsonrpc: -32002,
    text: "The task cannot be canceled in its present state.",
    a2a: true,
  },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    code: "FAILED_PRECONDITION",
    jsonrpc: -32003,
    text: "This agent does not send push notifications.",
    a2a: true,
  },
  UNSUPPORTED_OPERATION: {
    code: "FAILED_PRECONDITION",
    jsonrpc: -32004,
    text: "This operation is not supported.",
    a2a: true,
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    code: "INVALID_ARGUMENT",
    jsonrpc: -32005,
    text: "The media type is not supported.",
    a2a: true,
  },
  INVALID_AGENT_RESPONSE: {
    code: "INTERNAL",
    jsonrpc: -32006,
    text: "The agent's response was not valid.",
    a2a: true,
  },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: {
    code: "FAILED_PRECONDITION",
    jsonrpc: -32007,
    text: "No extended agent card is configured.",
    a2a: true,
  },
  EXTENSION_SUPPORT_REQUIRED: {
    code: "FAILED_PRECONDITION",
    jsonrpc: -32008,
    text: "The agent requires an extension that the request did not declare.",
    a2a: true,
  },
  VERSION_NOT_SUPPORTED: {
    code: "FAILED_PRECONDITION",
    jsonrpc: -32009,
    text: "This protocol version is not supported. Send A2A-Version: 1.0.",
    a2a: true,
  },

  INVALID_ARGUMENT: { code: "INVALID_ARGUMENT", jsonrpc: -32602, text: "The request is not valid." },
  UNAUTHENTICATED: { code: "UNAUTHENTICATED", jsonrpc: -31401, text: "Authentication is required." },
  PERMISSION_DENIED: { code: "PERMISSION_DENIED", jsonrpc: -31403, text: "Permission denied." },
  NOT_FOUND: { code: "NOT_FOUND", jsonrpc: -31404, text: "Not found." },
  RESOURCE_EXHAUSTED: { code: "RESOURCE_EXHAUSTED", jsonrpc: -31429, text: "A limit was reached." },
  CANCELLED: { code: "CANCELLED", jsonrpc: -31499, text: "The call was cancelled." },
  UNAVAILABLE: { code: "UNAVAILABLE", jsonrpc: -31503, text: "The gateway is not available." },
  DEADLINE_EXCEEDED: { code: "DEADLINE_EXCEEDED", jsonrpc: -31504, text: "The deadline has passed." },
  INTERNAL: { code: "INTERNAL", jsonrpc: -32603, text: "Internal error." },

  PARSE_ERROR: { code: "INVALID_ARGUMENT", jsonrpc: -32700, text: "The body is not valid JSON." },
  INVALID_REQUEST: {
    code: "INVALID_ARGUMENT",
    jsonrpc: -32600,
    text: "The body is not a JSON-RPC 2.0 request.",
  },
  METHOD_NOT_FOUND: { code: "UNIMPLEMENTED", jsonrpc: -32601, text: "Method not found." },

  NO_ROUTE: { code: "NOT_FOUND", jsonrpc: -31404, text: "There is nothing at this address." },
  METHOD_NOT_ALLOWED: {
    code: "UNIMPLEMENTED",
    jsonrpc: -32601,
    text: "This method is not allowed here.",
    http: 405,
  },
  REQUEST_TIMEOUT: {
    code: "DEADLINE_EXCEEDED",
    jsonrpc: -31504,
    text: "The request took too long.",
    http: 408,
  },
  TOO_LARGE: { code: "RESOURCE_EXHAUSTED", jsonrpc: -31429, text: "The message is too large.", http: 413 },
  TARGET_TOO_LONG: {
    code: "RESOURCE_EXHAUSTED",
    jsonrpc: -31429,
    text: "The request target is too long.",
    http: 414,
  },
  HEADERS_TOO_LARGE: {
    code: "RESOURCE_EXHAUSTED",
    jsonrpc: -31429,
    text: "The request's header fields are too large.",
    http: 431,
  },
  COMPRESSION_NOT_SUPPORTED: {
    code: "UNIMPLEMENTED",
    jsonrpc: -32601,
    text: "The compression is not supported. Send gzip or identity.",
  },
  MEDIA_TYPE_NOT_SUPPORTED: {
    code: "INVALID_ARGUMENT",
    jsonrpc: -32005,
    text: "The body's media type is not supported.",
    http: 415,
    a2a: true,
    wireReason: "CONTENT_TYPE_NOT_SUPPORTED",
  },
} as const satisfies Record<string, RowInit>;

/** Key of the error table. */
export type Reason = keyof typeof ROWS;

/** One row of the error table, complete. */
export interface ErrorRow {
  /** Key of the row. */
  readonly reason: Reason;
  /** Name of the gRPC status code; also `status` in a REST envelope. */
  readonly code: Code;
  /** Number of the gRPC status code. */
  readonly grpc: number;
  /** Number in a JSON-RPC error object. */
  readonly jsonrpc: number;
  /** HTTP status of a REST answer. */
  readonly http: number;
  /** Text sent when the thrower gives none. */
  readonly text: string;
  /** Reason of the ErrorInfo detail; undefined where the specification names no error. */
  readonly info: string | undefined;
}

function completeRow(reason: Reason, init: RowInit): ErrorRow {
  const code = CODES[init.code];
  return Object.freeze({
    reason,
    code: init.code,
    grpc: code.number,
    jsonrpc: init.jsonrpc,
    http: init.http ?? code.http,
    text: init.text,
    info: init.a2a ? (init.wireReason ?? reason) : undefined,
  });
}

/** Every row, by reason. */
export const ERRORS: ReadonlyMap<Reason, ErrorRow> = new Map(
  (Object.keys(ROWS) as Reason[]).map((reason) => [reason, completeRow(reason, ROWS[reason])]),
);

/** The `domain` of an ErrorInfo (specification 10.6). */
export const ERROR_DOMAIN = "a2a-protocol.org";

/** One field that did not hold what it must (google.rpc.BadRequest.FieldViolation). */
export interface FieldViolation {
  /** Path in JSON names, for example `message.parts[0].text`. */
  readonly field: string;
  readonly description: string;
}

/** What an error may carry besides its row. */
export interface ErrorOptions {
  /** Replaces the row's text. Sent to the caller: never put internals in it. */
  readonly text?: string;
  /** Sent as google.rpc.BadRequest. */
  readonly violations?: readonly FieldViolation[];
  /** Sent as ErrorInfo.metadata; only rows with an `info` reason have one. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Sent as google.rpc.RetryInfo and `Retry-After`. Milliseconds. */
  readonly retryAfterMs?: number;
  /** HTTP headers that belong to the outcome (`allow`, `www-authenticate`), names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as google.rpc.RequestInfo.request_id; finds the cause in the log. */
  readonly errorId?: string;
  /** Logged, never sent. */
  readonly cause?: unknown;
}

/** Marks the errors of every copy of this module: an agent's file may bring a copy of its own. */
const BRAND = Symbol.for("switchyard.A2AError");

/** The only error that leaves an operation. Its row says how each wire shows it. */
export class A2AError extends Error {
  override readonly name = "A2AError";
  readonly [BRAND] = true;
  readonly row: ErrorRow;
  readonly violations: readonly FieldViolation[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly errorId: string | undefined;

  constructor(reason: Reason, options: ErrorOptions = {}) {
    const row = ERRORS.get(reason) as ErrorRow;
    super(options.text ?? row.text, options.cause === undefined ? undefined : { cause: options.cause });
    this.row = row;
    this.violations = options.violations ?? [];
    this.metadata = options.metadata ?? {};
    this.headers = options.headers ?? {};
    this.retryAfterMs = options.retryAfterMs;
    this.errorId = options.errorId;
  }

  get reason(): Reason {
    return this.row.reason;
  }

  /**
   * The only way from anything thrown to an error that may be sent. An A2AError stays itself, and one of another
   * copy of this module becomes one of ours; anything else becomes INTERNAL with a fixed text and a fresh error
   * id, and is kept as the cause for the log.
   */
  static from(thrown: unknown): A2AError {
    try {
      if (thrown instanceof A2AError) return thrown;
      if (isForeign(thrown))
        return new A2AError(thrown.reason, { ...optionsOf(thrown), text: thrown.message });
    } catch {
      // A proxy, say, that lets nobody look into it.
    }
    return new A2AError("INTERNAL", { cause: thrown, errorId: crypto.randomUUID() });
  }
}

function isForeign(thrown: unknown): thrown is A2AError {
  return thrown instanceof Error && BRAND in thrown && ERRORS.has((thrown as A2AError).reason);
}

function optionsOf({ violations, metadata, headers, retryAfterMs, errorId, cause }: A2AError): ErrorOptions {
  return {
    violations,
    metadata,
    headers,
    cause,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(errorId !== undefined && { errorId }),
  };
}

/** INVALID_ARGUMENT about one field. */
export function invalidField(field: string, description: string): A2AError {
  return new A2AError("INVALID_ARGUMENT", {
    text: `${field}: ${description}`,
    violations: [{ field, description }],
  });
}
