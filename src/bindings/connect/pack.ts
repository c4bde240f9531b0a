import { compress, isWorthGzip } from "../gzip.js";
import type { Outgoing } from "./codec.js";
import { encodeEnvelope, FLAGS } from "./envelopes.js";
import type { Format } from "./format.js";
import type { Opened, Opening } from "./opening.js";

/** A message in its envelope, ready to be sent and counted as sent. */
export async function pack(
  { endpoint, format }: Opening,
  { call, compression }: Opened,
  message: Outgoing,
): Promise<string | Uint8Array> {
  const bytes = format.codec.encode(endpoint.method.output, message);
  call.traffic.sent += bytes.byteLength;
  const small = !compression.response || !isWorthGzip(bytes.byteLength);
  return inText(
    format,
    small ? encodeEnvelope(0, bytes) : encodeEnvelope(FLAGS.compressed, await compress(bytes)),
  );
}

/** An envelope as the caller's format has it: gRPC-Web knows one that is base64. */
export function inText({ text }: Format, envelope: Uint8Array): string | Uint8Array {
  return text ? Buffer.from(envelope).toString("base64") : envelope;
}
