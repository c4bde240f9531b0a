/** Percent-decoding of raw request targets. A target is octets: its characters above 0x7f are UTF-8 that was not escaped. */

const ENCODED = /[%\u0080-\uffff]/;
const RAW_OCTET = /[\u0080-\u00ff]/g;
const BEYOND_OCTETS = /[\u0100-\uffff]/;
const CONTROL = /\p{Cc}/u;
const ESCAPED_SLASH = /(%2f)/i;

/** Decodes once; undefined for a malformed escape and for invalid UTF-8 (overlong forms and surrogates too). */
function decodeEscapes(text: string): string | undefined {
  if (!ENCODED.test(text)) return text;
  if (BEYOND_OCTETS.test(text)) return undefined;
  try {
    return decodeURIComponent(text.replace(RAW_OCTET, escapeOctet));
  } catch {
    return undefined;
  }
}

function escapeOctet(octet: string): string {
  return `%${octet.charCodeAt(0).toString(16)}`;
}

/** Decodes a key or value of a query, where `+` is a space. */
export function decodeQueryText(text: string): string | undefined {
  return decodeEscapes(text.includes("+") ? text.replaceAll("+", " ") : text);
}

/** The value of a variable of one segment; undefined when it is malformed or not allowed as a value. */
export function decodeSegment(raw: string): string | undefined {
  return allowed(decodeEscapes(raw));
}

/**
 * The value of a variable of several segments, joined by slashes. An escaped slash stays as it was written, so
 * that it differs from a real one (google.api.http, "Path template syntax").
 */
export function decodeSegments(raw: readonly string[]): string | undefined {
  const values: string[] = [];
  for (const segment of raw) {
    const value = allowed(decodeKeepingSlashes(segment));
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values.join("/");
}

function decodeKeepingSlashes(segment: string): string | undefined {
  let decoded = "";
  for (const [index, piece] of segment.split(ESCAPED_SLASH).entries()) {
    const value = index % 2 === 1 ? piece : decodeEscapes(piece);
    if (value === undefined) return undefined;
    decoded += value;
  }
  return decoded;
}

/** Control characters and dot segments are never values: what is behind the gateway could read them as structure. */
function allowed(value: string | undefined): string | undefined {
  if (value === undefined || value === "." || value === ".." || CONTROL.test(value)) return undefined;
  return value;
}
