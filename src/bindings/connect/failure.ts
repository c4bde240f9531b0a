import type { A2AError, Code } from "../../errors.js";
import { toDetailsJson, toStatus, toStatusBinary } from "../../protocol/status.js";

/** The error as Connect writes it: code, message, and each detail with type, bytes and readable form. */
export function toConnectJson(error: A2AError): object {
  const readable = toDetailsJson(error);
  const details = toStatus(error).details.map(({ typeUrl, value }, index) => {
    const { "@type": _, ...debug } = readable[index] ?? {};
    return { type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), debug, value: unpaddedBase64(value) };
  });
  return {
    code: codeName(error.row.code),
    ...(error.message !== "" && { message: error.message }),
    ...(details.length > 0 && { details }),
  };
}

/** Connect has the names of gRPC in lower case, but for one. */
function codeName(code: Code): string {
  return code === "CANCELLED" ? "canceled" : code.toLowerCase();
}

function unpaddedBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replace(/=+$/, "");
}

/** The trailers that gRPC and gRPC-Web end a call with; without an error, that all is well. */
export function toGrpcTrailers(error: A2AError | undefined): Record<string, string> {
  if (error === undefined) return { "grpc-status": "0" };
  return {
    ...errorHeaders(error),
    "grpc-status": String(error.row.grpc),
    "grpc-message": percentEncode(error.message),
    "grpc-status-details-bin": unpaddedBase64(toStatusBinary(error)),
  };
}

/** HTTP headers that belong to the outcome. */
export function errorHeaders({ headers, retryAfterMs }: A2AError): Record<string, string> {
  if (retryAfterMs === undefined) return { ...headers };
  return { ...headers, "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
}

/** `grpc-message`: UTF-8 with everything but printable ASCII, and the percent sign, escaped. */
function percentEncode(text: string): string {
  if (/^[ -$&-~]*$/.test(text)) return text;
  const escaped = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return Array.from(Buffer.from(text), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25 ? escaped(byte) : String.fromCharCode(byte),
  ).join("");
}
