import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { NeutralError } from "../support/wires/index.js";

const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Rewrites what differs from run to run: each id becomes its place in the order of appearance, a time `<time>`. */
export type NormalForm = (value: JsonValue) => JsonValue;

/** A normal form with a memory: the same id stays the same alias in all values it is given. */
export function createNormalForm(): NormalForm {
  const aliases = new Map<string, string>();
  const alias = (id: string): string => {
    const known = aliases.get(id) ?? `<id ${aliases.size + 1}>`;
    aliases.set(id, known);
    return known;
  };
  const normal = (value: JsonValue, name?: string): JsonValue => {
    if (typeof value === "string") {
      if (name === "nextPageToken" && value !== "") return "<token>";
      if (TIME.test(value)) return "<time>";
      return value.replace(ID, alias);
    }
    if (Array.isArray(value)) return value.map((item) => normal(item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, normal(each, key)]));
  };
  return (value) => normal(value);
}

/** What of an error must be the same on every wire. */
export function commonPart({ numbers: _, errorId, ...error }: NeutralError): JsonObject {
  const known = errorId === undefined ? {} : { errorId: "<error id>" };
  return JSON.parse(JSON.stringify({ ...error, ...known })) as JsonObject;
}
