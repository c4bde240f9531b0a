import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";

const inflate = promisify(gunzip);
const deflate = promisify(gzip);

/** Below this, gzip saves nothing worth its time. Bytes. */
const MIN_GZIP_BYTES = 1024;

/** True when compressing so many bytes pays. */
export function isWorthGzip(bytes: number): boolean {
  return bytes >= MIN_GZIP_BYTES;
}

/** @param level of compression, as zlib counts it. Unset: zlib's own. */
export function compress(content: string | Uint8Array, level?: number): Promise<Uint8Array> {
  return deflate(content, level === undefined ? {} : { level });
}

/** What was compressed; of nothing, nothing. Rejects with Node's own error: see `isBeyondLimit`. */
export async function decompress(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  return bytes.byteLength === 0 ? bytes : inflate(bytes, { maxOutputLength: maxBytes });
}

/** True when `decompress` rejected because there is more than `maxBytes`; otherwise the gzip is damaged. */
export function isBeyondLimit(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
}
