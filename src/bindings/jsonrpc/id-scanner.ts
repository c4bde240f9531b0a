import { endOfString } from "../../protocol/json/index.js";

const SPACE = /[ \t\n\r]*/y;
const WORD = /[^ \t\n\r,\]}]*/y;
const BRACKETS = /["[\]{}]/g;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The `id` of a request as it is written in the text, so that `1.0`, `1e3` and twenty digits come back as they
 * came. Undefined when there is none, more than one, or one that is no string, number or null. The text need
 * not be well-formed.
 */
export function findId(text: string): string | undefined {
  let found: string | undefined;
  for (const { key, value } of members(text)) {
    if (key !== "id") continue;
    if (found !== undefined) return undefined;
    found = value;
  }
  return found !== undefined && isId(found) ? found : undefined;
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

/** The members of the outermost object, values as they are written. */
function* members(text: string): Generator<{ readonly key: string | undefined; readonly value: string }> {
  let at = skip(SPACE, text, 0);
  if (text[at] !== "{") return;
  do {
    at = skip(SPACE, text, at + 1);
    if (text[at] !== '"') return;
    const keyEnd = endOfString(text, at + 1) + 1;
    const key = unquote(text.slice(at, keyEnd));
    const colon = skip(SPACE, text, keyEnd);
    const start = skip(SPACE, text, colon + 1);
    const end = endOfValue(text, start);
    yield { key, value: text.slice(start, end) };
    at = skip(SPACE, text, end);
  } while (text[at] === ",");
}

function skip(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return from + (pattern.exec(text)?.[0].length ?? 0);
}

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start + 1) + 1;
  return first === "{" || first === "[" ? endOfContainer(text, start) : skip(WORD, text, start);
}

function endOfContainer(text: string, start: number): number {
  let depth = 0;
  BRACKETS.lastIndex = start;
  for (let match = BRACKETS.exec(text); match; match = BRACKETS.exec(text)) {
    if (match[0] === '"') BRACKETS.lastIndex = endOfString(text, match.index + 1) + 1;
    else if (match[0] === "{" || match[0] === "[") depth++;
    else if (--depth === 0) return match.index + 1;
  }
  return text.length;
}
