/** ProtoJSON as A2A wants it: one writer and one strict reader for every JSON wire. */
import type { DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { fromJson } from "@bufbuild/protobuf";
import { A2AError } from "../../errors.js";
import { messageWriter } from "./write.js";

/** How deep and how strict a text is read. */
export interface ReadOptions {
  /** Levels of objects and lists that a text may have. Default 100. */
  readonly maxDepth?: number;
  /** Refuse unknown fields instead of ignoring them. Default false. */
  readonly strict?: boolean;
}

/** The message as ProtoJSON, one line, REQUIRED fields always present. */
export function writeJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string {
  return messageWriter(schema).write(message);
}

/** Like writeJson, as a value. */
export function toJsonValue<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue {
  return JSON.parse(writeJson(schema, message)) as JsonValue;
}

/** A text as a JSON value; throws A2AError PARSE_ERROR or INVALID_ARGUMENT. */
export function parseJson(text: string | Uint8Array, _options: ReadOptions = {}): JsonValue {
  try {
    return JSON.parse(typeof text === "string" ? text : Buffer.from(text).toString("utf8")) as JsonValue;
  } catch (cause) {
    throw new A2AError("PARSE_ERROR", { cause });
  }
}

/** A text as a message; throws A2AError PARSE_ERROR or INVALID_ARGUMENT. */
export function readJson<Desc extends DescMessage>(
  schema: Desc,
  text: string | Uint8Array,
  options: ReadOptions = {},
): MessageShape<Desc> {
  return readJsonValue(schema, parseJson(text, options), options);
}

/** A parsed value as a message; throws A2AError INVALID_ARGUMENT. */
export function readJsonValue<Desc extends DescMessage>(
  schema: Desc,
  value: JsonValue,
  options: ReadOptions = {},
): MessageShape<Desc> {
  try {
    return fromJson(schema, value, { ignoreUnknownFields: options.strict !== true });
  } catch (cause) {
    throw new A2AError("INVALID_ARGUMENT", { cause });
  }
}
