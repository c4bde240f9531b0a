import { endOfString } from "../../protocol/json/index.js";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * The `id` of a request as it is written in the text, so that `1.0`, `1e3` and twenty digits come back as they
 * came. Undefined when there is none, more than one, or one that is no string, number or null. The text need
 * not be well-formed.
 */
export function findId(text: string): string | undefined {
  let found: string | undefined;
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== OPEN_OBJECT) return undefined;
  do {
    const key = skipSpace(text, at + 1);
    if (text.charCodeAt(key) !== QUOTE) break;
    const keyEnd = endOfString(text, key + 1) + 1;
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, value);
    if (isIdKey(text, key, keyEnd)) {
      if (found !== undefined) return undefined;
      found = text.slice(value, valueEnd);
    }
    at = skipSpace(text, valueEnd);
  } while (text.charCodeAt(at) === COMMA);
  return found !== undefined && isId(found) ? found : undefined;
}

/** A key may spell its letters as escapes. */
function isIdKey(text: string, start: number, end: number): boolean {
  if (end - start === 4) return text.startsWith('"id"', start);
  const key = text.slice(start, end);
  return key.includes("\\") && unquote(key) === "id";
}

function isId(value: string): boolean {
  if (value === "null" || NUMBER.test(value)) return true;
  return value.startsWith('"') && unquote(value) !== undefined;
}

function unquote(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start + 1) + 1;
  return first === OPEN_OBJECT || first === OPEN_LIST ? endOfContainer(text, start) : endOfWord(text, start);
}

function endOfWord(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA || unit === CLOSE_OBJECT || unit === CLOSE_LIST || isSpace(unit)) break;
  }
  return at;
}

function endOfContainer(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at + 1);
    else if (unit === OPEN_OBJECT || unit === OPEN_LIST) depth++;
    else if ((unit === CLOSE_OBJECT || unit === CLOSE_LIST) && --depth === 0) return at + 1;
  }
  return text.length;
}
