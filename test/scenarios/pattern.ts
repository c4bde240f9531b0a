import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/**
 * Compares a value with a pattern and returns what differs, or undefined. A pattern's object may leave
 * members out, a list is compared item by item. `$any` takes everything that is there, `$absent` what is
 * not, and `/text/` is a regular expression.
 */
export function mismatch(pattern: JsonValue, value: JsonValue | undefined, path = "$"): string | undefined {
  if (pattern === "$absent")
    return value === undefined ? undefined : `${path} is there: ${JSON.stringify(value)}`;
  if (value === undefined) return `${path} is not there`;
  if (pattern === "$any") return undefined;
  if (Array.isArray(pattern)) return listMismatch(pattern, value, path);
  if (isObject(pattern)) return objectMismatch(pattern, value, path);
  if (typeof pattern === "string" && /^\/.*\/$/s.test(pattern)) {
    return new RegExp(pattern.slice(1, -1)).test(String(value)) ? undefined : differs(path, pattern, value);
  }
  return pattern === value ? undefined : differs(path, pattern, value);
}

function listMismatch(pattern: readonly JsonValue[], value: JsonValue, path: string): string | undefined {
  if (!Array.isArray(value) || value.length !== pattern.length) return differs(path, pattern, value);
  return first(pattern.map((item, index) => mismatch(item, value[index], `${path}[${index}]`)));
}

function objectMismatch(pattern: JsonObject, value: JsonValue, path: string): string | undefined {
  if (!isObject(value)) return differs(path, pattern, value);
  return first(Object.entries(pattern).map(([name, each]) => mismatch(each, value[name], `${path}.${name}`)));
}

function first(found: readonly (string | undefined)[]): string | undefined {
  return found.find((each) => each !== undefined);
}

function differs(path: string, pattern: unknown, value: JsonValue): string {
  return `${path}: expected ${JSON.stringify(pattern)}, got ${JSON.stringify(value)}`;
}

function isObject(value: JsonValue): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
