import type { Message } from "@bufbuild/protobuf";
import { A2AError } from "../../errors.js";
import { abortable } from "../../protocol/ending.js";
import { readBody } from "../body.js";
import { createDeadline, parseTimeout } from "../deadline.js";
import { type HttpRequest, parametersOf } from "../http.js";
import { queryVersionOf } from "../query-version.js";
import { type Compression, negotiate } from "./compression.js";
import type { Endpoint, RpcCall } from "./endpoint.js";
import { decodeBase64, readEnvelopes } from "./envelopes.js";
import type { Format } from "./format.js";

/** One request, read as far as its head. */
export interface Opening {
  readonly endpoint: Endpoint;
  readonly format: Format;
  readonly request: HttpRequest;
  /** Largest message in bytes, decompressed. */
  readonly maxBytes: number;
  /** Levels of objects and lists that a message may have as JSON. */
  readonly maxDepth: number;
}

/** A call that has begun. */
export interface Opened {
  readonly call: RpcCall;
  readonly requests: AsyncIterable<Message>;
  readonly compression: Compression;
  /** As the promise, but no later than the caller's deadline. */
  within<T>(work: Promise<T>): Promise<T>;
  /** Ends the deadline's timer. */
  close(): void;
}

/** Begins a call. Throws what is wrong with the head of the request, reported. */
export function open(opening: Opening): Opened {
  const { endpoint, format, request } = opening;
  const traffic = { received: 0, sent: 0 };
  try {
    checkProtocolVersion(opening);
    const compression = negotiate(format.framing, request.headers);
    const timeoutMs = timeoutOf(opening);
    const deadline = timeoutMs === undefined ? undefined : createDeadline(request.caller, timeoutMs);
    const call: RpcCall = {
      wire: format.wire,
      parameters: parametersOf(request.headers),
      queryVersion: queryVersionOf(request.target),
      caller: deadline?.caller ?? request.caller,
      traffic,
    };
    return {
      call,
      compression,
      requests: readRequests(opening, compression, call),
      within: (work) => (deadline === undefined ? work : abortable(work, deadline.caller)),
      close: () => deadline?.clear(),
    };
  } catch (thrown) {
    throw endpoint.refuse(thrown, { wire: format.wire, traffic });
  }
}

/** Connect's own version: a call need not state it, but there is only one. */
function checkProtocolVersion({ format, request }: Opening): void {
  const version = request.headers["connect-protocol-version"];
  if (format.wire !== "connect" || version === undefined || version === "" || version === "1") return;
  throw new A2AError("INVALID_ARGUMENT", { text: 'connect-protocol-version: expected "1".' });
}

/** Milliseconds that the caller is willing to wait; undefined: as long as it takes. */
function timeoutOf({ format, request }: Opening): number | undefined {
  const parameters = parametersOf(request.headers);
  if (format.wire !== "connect") {
    const text = parameters("grpc-timeout");
    return text === undefined ? undefined : parseTimeout(text);
  }
  const text = parameters("connect-timeout-ms");
  if (text === undefined) return undefined;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new A2AError("INVALID_ARGUMENT", { text: "connect-timeout-ms: expected up to ten digits." });
}

async function* readRequests(
  opening: Opening,
  compression: Compression,
  { traffic }: RpcCall,
): AsyncGenerator<Message, void> {
  const { endpoint, format, maxDepth } = opening;
  for await (const bytes of readMessages(opening, compression)) {
    traffic.received += bytes.byteLength;
    yield format.codec.decode(endpoint.method.input, bytes, maxDepth);
  }
}

async function* readMessages(
  { format, request, maxBytes }: Opening,
  compression: Compression,
): AsyncGenerator<Uint8Array, void> {
  if (format.framing === "bare") yield await readBody(request, { maxBytes });
  else {
    const body = format.text ? decodeBase64(request.body()) : request.body();
    yield* readEnvelopes(body, { maxBytes, compressed: compression.request });
  }
}
