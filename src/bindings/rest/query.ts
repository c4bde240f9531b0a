import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { VERSION_PARAMETER } from "../../protocol/version.js";
import { decodeQueryText } from "./escapes.js";
import { type Failure, failure, invalid } from "./failure.js";
import { byEitherName, type FieldPath, resolveField, sameValue } from "./fields.js";

/** A value for a field of the request. */
export interface Assignment {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** What a query string says. */
export interface Query {
  readonly kind: "query";
  readonly assignments: readonly Assignment[];
  /** Value of the `A2A-Version` parameter. */
  readonly version: string | undefined;
}

/** What is known before the query is read. */
export interface QueryScope {
  readonly input: DescMessage;
  /** Values bound by the path: the query may repeat them, nothing else. */
  readonly bound: readonly Assignment[];
  /** Field that the body fills. */
  readonly bodyField: DescField | undefined;
  /** Refuse names that are no field. */
  readonly strict: boolean;
}

/** A service parameter, never a field (specification 3.6.1). Its name is a header's, so case does not matter. */
const VERSION = "A2A-Version";

interface Pair {
  readonly key: string | undefined;
  readonly value: string | undefined;
}

/** The pieces of a raw query string, and whether there are more than allowed: counted before anything is read. */
export function splitQuery(raw: string, maxParameters: number): readonly string[] | Failure {
  if (raw === "") return [];
  const pieces = raw.split("&", maxParameters + 1);
  if (pieces.length <= maxParameters) return pieces.filter((piece) => piece !== "");
  return failure(
    "target too long",
    "TARGET_TOO_LONG",
    `The query has more than ${maxParameters} parameters.`,
  );
}

/** Reads the parameters of a method whose fields come from the query. */
export function readQuery(pieces: readonly string[], scope: QueryScope): Query | Failure {
  const assignments: Assignment[] = [];
  const seen = new Set<string>();
  let version: string | undefined;
  for (const piece of pieces) {
    const { key, value } = splitPair(piece);
    if (key === undefined || value === undefined) return malformed(key);
    if (isVersion(key)) {
      if (version !== undefined && version !== value) return twoVersions();
      version = value;
    } else {
      const fault = readParameter({ key, value, scope, seen, assignments });
      if (fault) return fault;
    }
  }
  return { kind: "query", assignments, version };
}

/** Reads nothing but `A2A-Version`: where the body holds all fields, the query holds none. */
export function readVersionOnly(pieces: readonly string[]): Query | Failure {
  const pairs = pieces.map(splitPair).filter(({ key }) => isVersion(key));
  const versions = new Set(pairs.map(({ value }) => value));
  if (versions.has(undefined)) return malformed(VERSION);
  return versions.size > 1 ? twoVersions() : { kind: "query", assignments: [], version: pairs[0]?.value };
}

function isVersion(key: string | undefined): boolean {
  return key?.toLowerCase() === VERSION_PARAMETER;
}

function splitPair(piece: string): Pair {
  const equals = piece.indexOf("=");
  if (equals < 0) return { key: decodeQueryText(piece), value: "" };
  return { key: decodeQueryText(piece.slice(0, equals)), value: decodeQueryText(piece.slice(equals + 1)) };
}

interface Parameter {
  readonly key: string;
  readonly value: string;
  readonly scope: QueryScope;
  /** Names of the fields that had their value. */
  readonly seen: Set<string>;
  readonly assignments: Assignment[];
}

function readParameter(parameter: Parameter): Failure | undefined {
  const { key, value, scope } = parameter;
  const resolved = resolveField(scope.input, key, byEitherName);
  if (resolved.kind === "unknown") {
    return scope.strict ? invalid("bad query", key, "there is no such parameter") : undefined;
  }
  if (resolved.kind === "fault") return invalid("bad query", resolved.name, resolved.problem);
  const { path } = resolved;
  if ((path.parents[0] ?? path.leaf) === scope.bodyField) {
    return invalid("binding conflict", path.name, "the body holds this field");
  }
  const bound = scope.bound.find((assignment) => assignment.path.name === path.name);
  return bound ? repeatBound(bound, value) : addValues(path, value, parameter);
}

function repeatBound({ path, value }: Assignment, text: string): Failure | undefined {
  if (text === "" || sameValue(path.leaf, path.text.parse(text), value)) return undefined;
  return invalid("binding conflict", path.name, "the query differs from the path");
}

function addValues(path: FieldPath, text: string, { seen, assignments }: Parameter): Failure | undefined {
  const isList = path.leaf.fieldKind === "list";
  if (!isList && seen.has(path.name)) return invalid("bad query", path.name, "it is given more than once");
  seen.add(path.name);
  for (const item of isList && path.text.splits ? text.split(",") : [text]) {
    const value = path.text.parse(item);
    if (value === undefined) return invalid("bad query", path.name, `expected ${path.text.expected}`);
    assignments.push({ path, value });
  }
  return undefined;
}

function malformed(key: string | undefined): Failure {
  return invalid("bad query", key, "the query is not percent-encoded UTF-8");
}

function twoVersions(): Failure {
  return invalid("bad query", VERSION, "it is given twice with different values");
}
