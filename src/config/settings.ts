import { z } from "zod";
import { configSchema, SHORTHANDS } from "./schema.js";

/** What is used of JSON Schema here, with three marks of our own: see `values.ts`. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  /** A secret. */
  readonly writeOnly?: boolean;
  /** The text may come from a file, named by the same key with `File` at its end. */
  readonly fromFile?: boolean;
  /** The text is a path, unless it is one of `words`. */
  readonly path?: boolean;
  readonly words?: readonly string[];
}

/** Names a file that holds the text of a setting. */
export const FILE_NAME: JsonSchema = { type: "string", path: true, description: "Path of a file with it." };

/** The configuration's schema, as the file writes it. */
export const CONFIG_JSON_SCHEMA = z.toJSONSchema(configSchema, {
  io: "input",
  unrepresentable: "any",
}) as JsonSchema;

/** One setting that has a value of its own. */
export interface Setting {
  readonly path: readonly string[];
  readonly schema: JsonSchema;
  /** Environment variable that sets it; absent for lists of objects, which only a file can hold. */
  readonly environment?: string;
}

/** Every setting outside of `agents`, in the order of the schema; a text from a file counts as a second one. */
export const SETTINGS: readonly Setting[] = settingsOf(CONFIG_JSON_SCHEMA, []);

function settingsOf(schema: JsonSchema, path: readonly string[]): Setting[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const at = [...path, key];
    if (inner.properties !== undefined) return settingsOf(inner, at);
    const own = settingAt(at, inner);
    return inner.fromFile === true ? [own, settingAt([...path, `${key}File`], FILE_NAME)] : [own];
  });
}

function settingAt(path: readonly string[], schema: JsonSchema): Setting {
  return schema.items?.properties === undefined
    ? { path, schema, environment: environmentOf(path) }
    : { path, schema };
}

/** `limits.messageBytes` → `SWITCHYARD_LIMITS_MESSAGE_BYTES`; a shorthand leaves out the key that it stands for. */
function environmentOf(path: readonly string[]): string {
  const shown = SHORTHANDS.get(path[0] ?? "") === path[1] ? path.slice(0, 1) : path;
  return `SWITCHYARD_${shown.map((key) => key.replaceAll(/[A-Z]/g, "_$&").toUpperCase()).join("_")}`;
}

/** The schema at a path; undefined where a setting is unknown or free. */
export function schemaAt(path: readonly (string | number)[]): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(schemaBelow, CONFIG_JSON_SCHEMA);
}

function schemaBelow(schema: JsonSchema | undefined, segment: string | number): JsonSchema | undefined {
  if (typeof segment === "number") return schema?.items;
  const properties = schema?.properties ?? {};
  if (Object.hasOwn(properties, segment)) return properties[segment];
  const text = fileTextOf(schema, segment);
  return text === undefined ? undefined : FILE_NAME;
}

/** The setting whose text comes from the file that `key` names: `keyFile` → `key`. */
export function fileTextOf(schema: JsonSchema | undefined, key: string): string | undefined {
  const name = key.endsWith("File") ? key.slice(0, -4) : "";
  const properties = schema?.properties ?? {};
  return Object.hasOwn(properties, name) && properties[name]?.fromFile === true ? name : undefined;
}

/** True when this text at this place is a path. */
export function isPath(text: string, schema: JsonSchema | undefined): boolean {
  if (schema?.path === true) return schema.words?.includes(text) !== true;
  return (schema?.anyOf ?? []).some((each) => isPath(text, each));
}

/** The names that an object of this schema may have, those of files included. */
export function namesOf(schema: JsonSchema | undefined): string[] {
  return Object.entries(schema?.properties ?? {}).flatMap(([key, inner]) =>
    inner.fromFile === true ? [key, `${key}File`] : [key],
  );
}
