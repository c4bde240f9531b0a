import { A2AError } from "../../errors.js";
import { decompress, isBeyondLimit } from "../gzip.js";
import type { HttpHeaders } from "../http.js";
import type { Framing } from "./format.js";

/** Names of the headers in which a framing states its compression. */
export interface EncodingHeaders {
  readonly encoding: string;
  readonly accept: string;
}

const HEADERS: Readonly<Record<Framing, EncodingHeaders>> = {
  bare: { encoding: "content-encoding", accept: "accept-encoding" },
  connect: { encoding: "connect-content-encoding", accept: "connect-accept-encoding" },
  "grpc-web": { encoding: "grpc-encoding", accept: "grpc-accept-encoding" },
  grpc: { encoding: "grpc-encoding", accept: "grpc-accept-encoding" },
};

/** What was agreed for one call. */
export interface Compression {
  /** Messages of the request may be compressed. */
  readonly request: boolean;
  /** Messages of the response may be compressed. */
  readonly response: boolean;
  readonly headers: EncodingHeaders;
}

/** Reads what the caller states. Throws COMPRESSION_NOT_SUPPORTED, naming what is. */
export function negotiate(framing: Framing, headers: HttpHeaders): Compression {
  const names = HEADERS[framing];
  const encoding = String(headers[names.encoding] ?? "identity")
    .trim()
    .toLowerCase();
  if (encoding !== "identity" && encoding !== "gzip") {
    throw new A2AError("COMPRESSION_NOT_SUPPORTED", { headers: { [names.accept]: "gzip, identity" } });
  }
  const accepted = String(headers[names.accept] ?? "").split(",");
  const response = accepted.some((name) =>
    /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/.test(name.toLowerCase()),
  );
  return { request: encoding === "gzip", response, headers: names };
}

/** Rejects with TOO_LARGE beyond `maxBytes`, and with INVALID_ARGUMENT for what is no gzip. */
export async function decompressMessage(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  try {
    return await decompress(bytes, maxBytes);
  } catch (cause) {
    if (isBeyondLimit(cause)) throw tooLarge(maxBytes);
    throw new A2AError("INVALID_ARGUMENT", { text: "The message is not valid gzip.", cause });
  }
}

/** TOO_LARGE, with the limit. */
export function tooLarge(maxBytes: number): A2AError {
  return new A2AError("TOO_LARGE", { text: `The message is larger than ${maxBytes} bytes.` });
}
