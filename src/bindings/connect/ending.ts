import type { A2AError } from "../../errors.js";
import { encodeEnvelope, FLAGS } from "./envelopes.js";
import { errorHeaders, toConnectJson, toGrpcTrailers } from "./failure.js";
import type { Framing } from "./format.js";

/** How a stream of envelopes ends. */
export interface Ending {
  /** The last envelope; gRPC has none. */
  readonly envelope?: Uint8Array;
  /** HTTP trailers; only gRPC has them. */
  readonly trailers?: Readonly<Record<string, string>>;
}

/** The end of a stream that went well, or, with an error, that did not. */
export function endingOf(framing: Exclude<Framing, "bare">, error: A2AError | undefined): Ending {
  switch (framing) {
    case "grpc":
      return { trailers: toGrpcTrailers(error) };
    case "grpc-web":
      return { envelope: envelope(FLAGS.trailers, fieldLines(toGrpcTrailers(error))) };
    case "connect":
      return { envelope: envelope(FLAGS.endStream, JSON.stringify(connectEnd(error))) };
  }
}

function connectEnd(error: A2AError | undefined): object {
  if (error === undefined) return {};
  const headers = Object.entries(errorHeaders(error));
  const metadata = Object.fromEntries(headers.map(([name, value]) => [name, [value]]));
  return { error: toConnectJson(error), ...(headers.length > 0 ? { metadata } : {}) };
}

function fieldLines(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

function envelope(flags: number, text: string): Uint8Array {
  return encodeEnvelope(flags, Buffer.from(text));
}
