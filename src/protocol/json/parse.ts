import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bufbuild/protobuf";
import { A2AError } from "../../errors.js";
import { DEFAULT_DEPTH, tooDeep } from "../depth.js";
import { parseDelicate } from "./parse-delicate.js";
import { scan } from "./scan.js";

/** How a JSON text is parsed. */
export interface ParseOptions {
  /** Levels of objects and lists that a message may have. Default 100. */
  readonly maxDepth?: number;
  /** Levels of the text around the message, which do not count. Default 0. */
  readonly outerDepth?: number;
  /**
   * Keep integers beyond 2^53 exact. They are then objects that only `readJsonValue` understands. Default
   * false: they lose precision, as in JavaScript.
   */
  readonly exact?: boolean;
}

/**
 * Parses a JSON text, strictly. Throws PARSE_ERROR when it is malformed or no UTF-8, INVALID_ARGUMENT when it
 * repeats a key, nests too deep, holds half a surrogate pair or a number that no double can hold.
 */
export function parseJson(source: string | Uint8Array, options: ParseOptions = {}): JsonValue {
  const { maxDepth = DEFAULT_DEPTH, outerDepth = 0, exact = false } = options;
  const text = typeof source === "string" ? source : decodeUtf8(source);
  const { keys, deeper, delicate } = scan(text, maxDepth + outerDepth);
  if (deeper) throw tooDeep(maxDepth);
  const value = parseNative(text);
  // A repeated key leaves fewer keys in the value than in the text.
  const careful = delicate || countKeys(value) !== keys || !isWellFormed(text);
  return careful ? parseDelicate(text, exact) : value;
}

/** Bytes as text. Throws PARSE_ERROR when they are no UTF-8; a byte order mark stays, and is no JSON. */
export function decodeUtf8(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new A2AError("PARSE_ERROR", { text: "The body is not valid UTF-8." });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

/** False when a surrogate stands alone. Every supported Node has the method; TypeScript knows it from ES2024. */
function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

function parseNative(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (thrown) {
    // V8's text may quote the body, which belongs into no log.
    const position = /at position (\d+)/.exec(String(thrown))?.[1];
    const where = position === undefined ? "" : ` It breaks at character ${position}.`;
    throw new A2AError("PARSE_ERROR", { text: `The body is not valid JSON.${where}` });
  }
}

function countKeys(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countKeys(item);
  } else {
    for (const item of Object.values(value)) count += 1 + countKeys(item);
  }
  return count;
}
