import { SHORTHANDS } from "./schema.js";
import { CONFIG_JSON_SCHEMA, FILE_NAME, type JsonSchema } from "./settings.js";

/** The JSON Schema with which an editor checks and completes a `switchyard.yaml`. */
export function editorSchema(): JsonSchema {
  const { properties = {}, ...root } = published(CONFIG_JSON_SCHEMA);
  const settings = Object.entries(properties).map(([key, schema]): [string, JsonSchema] => {
    const { description, ...inner } = schema;
    const short: JsonSchema = {
      ...(description !== undefined && { description }),
      anyOf: [{ type: "string" }, inner],
    };
    return [key, SHORTHANDS.has(key) ? short : schema];
  });
  return { ...root, properties: Object.fromEntries(settings) };
}

/** Without our own marks, and with a second name for each text that may come from a file. */
function published(schema: JsonSchema): JsonSchema {
  const { path: _path, words: _words, fromFile: _fromFile, ...plain } = schema;
  return {
    ...plain,
    ...(plain.items && { items: published(plain.items) }),
    ...(plain.anyOf && { anyOf: plain.anyOf.map(published) }),
    ...(plain.properties && { properties: withFileNames(plain.properties) }),
    ...(plain.required && {
      required: plain.required.filter((key) => plain.properties?.[key]?.fromFile !== true),
    }),
  };
}

function withFileNames(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const entries = Object.entries(properties).flatMap(([key, schema]): [string, JsonSchema][] =>
    schema.fromFile === true
      ? [
          [key, published(schema)],
          [`${key}File`, published(FILE_NAME)],
        ]
      : [[key, published(schema)]],
  );
  return Object.fromEntries(entries);
}
