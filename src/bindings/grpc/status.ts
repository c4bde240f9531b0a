import { Metadata, type StatusObject } from "@grpc/grpc-js";
import type { A2AError } from "../../errors.js";
import { toStatusBinary } from "../../protocol/status.js";

/** The error as grpc-js sends it: status, text, and google.rpc.Status with the details in the trailers. */
export function toGrpcStatus(error: A2AError): StatusObject {
  const metadata = toMetadata(error.headers);
  if (error.retryAfterMs !== undefined) {
    metadata.set("retry-after", String(Math.ceil(error.retryAfterMs / 1000)));
  }
  metadata.set("grpc-status-details-bin", asBuffer(toStatusBinary(error)));
  return { code: error.row.grpc, details: wellFormed(error.message), metadata };
}

/** Headers as metadata. A value that metadata cannot carry (beyond printable ASCII) is percent-encoded. */
export function toMetadata(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) {
    metadata.set(name, /^[ -~]*$/.test(value) ? value : encodeURI(wellFormed(value)));
  }
  return metadata;
}

/** The same bytes, for grpc-js, which wants a Buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** grpc-js percent-encodes texts with encodeURI, which throws on half a surrogate pair. */
function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text) ? Buffer.from(text).toString() : text;
}
