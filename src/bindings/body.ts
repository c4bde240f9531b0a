import { A2AError } from "../errors.js";
import { decompress, isBeyondLimit } from "./gzip.js";
import type { HttpRequest } from "./http.js";

/** Limits of one request body. */
export interface BodyOptions {
  /** Largest body in bytes, counted after decompression. */
  readonly maxBytes: number;
}

/**
 * The whole body of a request, decompressed. Empty when there is none. Rejects with TOO_LARGE,
 * MEDIA_TYPE_NOT_SUPPORTED (a content encoding other than gzip), PARSE_ERROR (damaged gzip) or CANCELLED (the
 * body broke off).
 */
export async function readBody(request: HttpRequest, { maxBytes }: BodyOptions): Promise<Uint8Array> {
  const compressed = isCompressed(request);
  if (Number(request.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
  const bytes = await collect(request, maxBytes);
  return compressed ? inflate(bytes, maxBytes) : bytes;
}

function isCompressed({ headers }: HttpRequest): boolean {
  const encoding = String(headers["content-encoding"] ?? "identity")
    .trim()
    .toLowerCase();
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  if (encoding === "identity" || encoding === "") return false;
  throw new A2AError("MEDIA_TYPE_NOT_SUPPORTED", {
    text: "The body's content encoding is not supported. Send it plain or as gzip.",
    headers: { "accept-encoding": "gzip" },
  });
}

async function collect(request: HttpRequest, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of request.body()) {
      size += piece.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      pieces.push(piece);
    }
  } catch (thrown) {
    if (thrown instanceof A2AError) throw thrown;
    throw new A2AError("CANCELLED", { text: "The request body broke off.", cause: thrown });
  }
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, size);
}

async function inflate(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await decompress(bytes, maxBytes);
  } catch (cause) {
    if (isBeyondLimit(cause)) throw tooLarge(maxBytes);
    throw new A2AError("PARSE_ERROR", { text: "The body is not valid gzip.", cause });
  }
}

function tooLarge(maxBytes: number): A2AError {
  return new A2AError("TOO_LARGE", { text: `The body is larger than ${maxBytes} bytes.` });
}
