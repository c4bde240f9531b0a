import { nearest } from "./nearest.js";
import { type JsonSchema, namesOf, schemaAt } from "./settings.js";
import { formatPath, type Path, valueAt } from "./tree.js";

/** Something wrong with the configuration. */
export interface Problem {
  /** Where it was found: `switchyard.yaml:3`, `SWITCHYARD_HTTP`, `--http`; absent when it is nowhere written. */
  readonly origin?: string;
  /** Which setting; empty when it is about a source as a whole. */
  readonly path: Path;
  readonly text: string;
}

/** One line. */
export function formatProblem({ origin, path, text }: Problem): string {
  return [origin, formatPath(path), text].filter((each) => each !== undefined && each !== "").join(": ");
}

/** What is read of a zod issue. */
export interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  readonly minimum?: unknown;
  readonly expected?: string;
}

/** A zod issue about `root` in the words of these files; an object with several unknown keys gives one each. */
export function issueProblems(issue: Issue, root: unknown): Problem[] {
  const path = issue.path.map((segment) => (typeof segment === "symbol" ? String(segment) : segment));
  if (issue.code === "unrecognized_keys") {
    return (issue.keys ?? []).map((key) => ({
      path: [...path, key],
      text: unknownText(key, schemaAt(path)),
    }));
  }
  return [{ path, text: issueText(issue, valueAt(root, path), schemaAt(path)) }];
}

function unknownText(key: string, schema: JsonSchema | undefined): string {
  const meant = nearest(key, namesOf(schema));
  return meant === undefined
    ? "there is no such setting."
    : `there is no such setting; did you mean "${meant}"?`;
}

function issueText(issue: Issue, value: unknown, schema: JsonSchema | undefined): string {
  const expected = expectation(issue);
  if (value === undefined) return `is missing; it ${expected}.`;
  const given = schema?.writeOnly === true ? "" : `, not ${shorten(value)}`;
  const meant = typeof value === "string" ? nearest(value, wordsOf(schema)) : undefined;
  return `${expected}${given}.${meant === undefined ? "" : ` Did you mean "${meant}"?`}`;
}

function expectation({ code, message, expected }: Issue): string {
  if (code === "invalid_type") return `must be ${TYPES.get(expected ?? "") ?? expected}`;
  return code === "too_small" ? "must have at least one entry" : message;
}

const TYPES = new Map([
  ["object", "a set of settings"],
  ["record", "a set of names and values"],
  ["array", "a list"],
  ["string", "a text"],
]);

function wordsOf(schema: JsonSchema | undefined): string[] {
  return (schema?.enum ?? []).filter((word) => typeof word === "string");
}

const LONGEST_VALUE = 60;

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
