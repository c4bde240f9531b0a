import { A2AError } from "../../errors.js";
import { decompressMessage, tooLarge } from "./compression.js";

/** An envelope's head: one byte of flags, four of length. */
const HEAD_BYTES = 5;

/** What the first byte of an envelope may say. */
export const FLAGS = {
  compressed: 0x01,
  /** Connect: how the stream ended, as JSON. */
  endStream: 0x02,
  /** gRPC-Web: the trailers, as lines of fields. */
  trailers: 0x80,
} as const;

/** A message in its envelope. */
export function encodeEnvelope(flags: number, message: Uint8Array): Uint8Array {
  const envelope = Buffer.allocUnsafe(HEAD_BYTES + message.byteLength);
  envelope.writeUInt8(flags, 0);
  envelope.writeUInt32BE(message.byteLength, 1);
  envelope.set(message, HEAD_BYTES);
  return envelope;
}

/** Limits and compression of the envelopes of one request. */
export interface EnvelopeOptions {
  /** Largest message in bytes, before and after decompression. */
  readonly maxBytes: number;
  /** The caller stated a compression. */
  readonly compressed: boolean;
}

/**
 * The messages in a body of envelopes, as they arrive. Nothing is set aside for a message before its bytes are
 * there. Rejects with TOO_LARGE, or with INVALID_ARGUMENT for envelopes that are cut, or compressed without notice.
 */
export async function* readEnvelopes(
  body: AsyncIterable<Uint8Array>,
  options: EnvelopeOptions,
): AsyncGenerator<Uint8Array, void> {
  let pieces: Uint8Array[] = [];
  let size = 0;
  let wanted = HEAD_BYTES;
  for await (const piece of body) {
    pieces.push(piece);
    size += piece.byteLength;
    if (size < wanted) continue;
    let bytes = Buffer.concat(pieces, size);
    for (wanted = wantedOf(bytes, options); bytes.length >= wanted; wanted = wantedOf(bytes, options)) {
      yield open(bytes.subarray(0, wanted), options);
      bytes = bytes.subarray(wanted);
    }
    pieces = [bytes];
    size = bytes.length;
  }
  if (size > 0) throw invalid("The last envelope is cut short.");
}

function wantedOf(bytes: Buffer, { maxBytes }: EnvelopeOptions): number {
  if (bytes.length < HEAD_BYTES) return HEAD_BYTES;
  const length = bytes.readUInt32BE(1);
  if (length > maxBytes) throw tooLarge(maxBytes);
  return HEAD_BYTES + length;
}

async function open(envelope: Buffer, { maxBytes, compressed }: EnvelopeOptions): Promise<Uint8Array> {
  const flags = envelope.readUInt8(0);
  const message = envelope.subarray(HEAD_BYTES);
  if (flags === 0) return message;
  if (flags !== FLAGS.compressed) throw invalid(`An envelope has unknown flags (${flags}).`);
  if (!compressed) throw invalid("An envelope is compressed, but the request does not say how.");
  return decompressMessage(message, maxBytes);
}

/** The bytes of a body in base64, of which any piece may end with padding (gRPC-Web text). */
export async function* decodeBase64(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let pending = "";
  for await (const piece of body) {
    pending += Buffer.from(piece).toString("latin1").replace(/\s/g, "");
    const whole = pending.length - (pending.length % 4);
    yield decodeQuads(pending.slice(0, whole));
    pending = pending.slice(whole);
  }
  if (pending !== "") throw invalid("The body is not whole base64.");
}

function decodeQuads(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/=]*$/.test(text)) throw invalid("The body is not base64.");
  return Buffer.concat(text.split(/(?<==)(?!=)/).map((part) => Buffer.from(part, "base64")));
}

function invalid(text: string): A2AError {
  return new A2AError("INVALID_ARGUMENT", { text });
}
