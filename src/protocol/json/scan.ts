/** What one pass over a JSON text tells before it is parsed. */
export interface Scan {
  /** Colons outside strings: in a well-formed text, the number of keys. */
  readonly keys: number;
  /** True when the nesting passes the limit; the pass stops there. */
  readonly deeper: boolean;
  /** True when `JSON.parse` may lose something: a long number, an exponent, an escaped surrogate. */
  readonly delicate: boolean;
}

/** Digits that every integer up to 2^53 stays under. */
const LONG_NUMBER = 16;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const POINT = 0x2e;
const LETTER_E = 0x65;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Looks over a text in linear time. A malformed text gives some answer: parsing it comes after. */
export function scan(text: string, maxDepth: number): Scan {
  let keys = 0;
  let depth = 0;
  let digits = 0; // of the number under way; -Infinity behind its point, where length loses nothing
  let delicate = false;
  let backslash = -1;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x30 && unit <= 0x39) {
      if (++digits >= LONG_NUMBER) delicate = true;
      continue;
    }
    if (digits !== 0) {
      // "e" after a digit is an exponent; in true, false and null it follows a letter.
      if ((unit | 0x20) === LETTER_E) delicate = true;
      digits = unit === POINT ? Number.NEGATIVE_INFINITY : 0;
      if (unit === POINT) continue;
    }
    if (unit === QUOTE) {
      if (backslash < i) backslash = indexOrEnd(text, "\\", i);
      const close = indexOrEnd(text, '"', i + 1);
      if (backslash > close) i = close;
      else {
        const end = endOfString(text, backslash);
        if (hasEscapedSurrogate(text, backslash, end)) delicate = true;
        i = end;
      }
    } else if (unit === COLON) keys++;
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      if (++depth > maxDepth) return { keys, deeper: true, delicate };
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth--;
  }
  return { keys, deeper: false, delicate };
}

function indexOrEnd(text: string, search: string, from: number): number {
  const index = text.indexOf(search, from);
  return index < 0 ? text.length : index;
}

/** Position of the quote that ends a string, from any position inside it that no escape spans. */
export function endOfString(text: string, from: number): number {
  let i = from;
  while (i < text.length) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) return i;
    i += unit === BACKSLASH ? 2 : 1;
  }
  return text.length;
}

function hasEscapedSurrogate(text: string, from: number, end: number): boolean {
  for (let at = text.indexOf("\\u", from); at >= 0 && at < end; at = text.indexOf("\\u", at + 2)) {
    const lead = text.charCodeAt(at + 2) | 0x20;
    const next = text.charCodeAt(at + 3) | 0x20;
    // \uD800 to \uDFFF: a "d", then 8, 9 or a letter.
    if (lead === 0x64 && next >= 0x38) return true;
  }
  return false;
}
