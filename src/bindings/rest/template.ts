/**
 * Path templates of google.api.http, read once at the start:
 *
 *     Template  = "/" Segments [ ":" LITERAL ] ;
 *     Segments  = Segment { "/" Segment } ;
 *     Segment   = "*" | "**" | LITERAL | Variable ;
 *     Variable  = "{" FieldPath [ "=" Segments ] "}" ;
 *     FieldPath = IDENT { "." IDENT } ;
 */

/** One position of a path: a fixed text, `*` (one segment, not empty) or `**` (the rest, may be nothing). */
export type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "single" }
  | { readonly kind: "rest" };

/** A field that takes the text of some segments. */
interface Variable {
  /** Field path as written, proto names joined by dots. */
  readonly name: string;
  /** Index of its first segment. */
  readonly start: number;
  /** Index after its last segment; undefined when it ends in `**`. */
  readonly end: number | undefined;
  /** True for exactly one segment: its value is decoded wholly, others keep `%2F`. */
  readonly single: boolean;
}

/** A template, parsed. */
export interface Template {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly variables: readonly Variable[];
  /** Text after the colon; empty when there is none. */
  readonly verb: string;
}

interface Cursor {
  readonly text: string;
  readonly segments: Segment[];
  readonly variables: Variable[];
  at: number;
}

/** The characters that RFC 3986 allows in a path segment, without `*` and `:`, which mean something here. */
const LITERAL = /(?:[A-Za-z0-9\-._~!$&'()+,;=@]|%[0-9A-Fa-f]{2})+/y;
const FIELD_PATH = /[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*/y;

/** Reads a template. Throws an Error whose text begins with the column, counted from 1. */
export function parseTemplate(text: string): Template {
  const cursor: Cursor = { text, segments: [], variables: [], at: 0 };
  expect(cursor, "/");
  readSegments(cursor, false);
  const verb = readVerb(cursor);
  if (cursor.at < text.length) fail(cursor, `unexpected ${show(cursor)}`);
  return { text, segments: cursor.segments, variables: cursor.variables, verb };
}

function readSegments(cursor: Cursor, inVariable: boolean): void {
  readSegment(cursor, inVariable);
  while (cursor.text[cursor.at] === "/") {
    if (cursor.segments.at(-1)?.kind === "rest") failAfterRest(cursor);
    cursor.at++;
    readSegment(cursor, inVariable);
  }
}

function readSegment(cursor: Cursor, inVariable: boolean): void {
  if (cursor.text[cursor.at] === "{") {
    if (inVariable) fail(cursor, "a variable inside a variable");
    readVariable(cursor);
  } else if (cursor.text.startsWith("**", cursor.at)) {
    cursor.at += 2;
    cursor.segments.push({ kind: "rest" });
  } else if (cursor.text[cursor.at] === "*") {
    cursor.at++;
    cursor.segments.push({ kind: "single" });
  } else {
    cursor.segments.push({ kind: "literal", text: take(cursor, LITERAL, "a segment") });
  }
}

function readVariable(cursor: Cursor): void {
  const start = cursor.segments.length;
  cursor.at++;
  const column = cursor.at;
  const name = take(cursor, FIELD_PATH, "a field path");
  if (cursor.variables.some((variable) => variable.name === name)) {
    fail({ ...cursor, at: column }, `the variable "${name}" a second time`);
  }
  if (cursor.text[cursor.at] === "=") {
    cursor.at++;
    readSegments(cursor, true);
  } else {
    cursor.segments.push({ kind: "single" });
  }
  expect(cursor, "}");
  cursor.variables.push({ name, ...extentOf(cursor.segments, start) });
}

function extentOf(segments: readonly Segment[], start: number): Omit<Variable, "name"> {
  const open = segments.at(-1)?.kind === "rest";
  return { start, end: open ? undefined : segments.length, single: !open && segments.length === start + 1 };
}

function readVerb(cursor: Cursor): string {
  if (cursor.text[cursor.at] !== ":") return "";
  cursor.at++;
  return take(cursor, LITERAL, "a verb");
}

function take(cursor: Cursor, pattern: RegExp, what: string): string {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0];
  if (found === undefined) return fail(cursor, `expected ${what}, found ${show(cursor)}`);
  cursor.at += found.length;
  return found;
}

function expect(cursor: Cursor, character: string): void {
  if (cursor.text[cursor.at] !== character) fail(cursor, `expected "${character}", found ${show(cursor)}`);
  cursor.at++;
}

function failAfterRest(cursor: Cursor): never {
  const again = cursor.text.indexOf("**", cursor.at);
  if (again >= 0) fail({ ...cursor, at: again }, 'a second "**"');
  fail(cursor, '"**" must be the last segment');
}

function show(cursor: Cursor): string {
  const point = cursor.text.codePointAt(cursor.at);
  return point === undefined ? "the end" : `"${String.fromCodePoint(point)}"`;
}

function fail(cursor: Cursor, problem: string): never {
  throw new Error(`column ${cursor.at + 1}: ${problem}`);
}
