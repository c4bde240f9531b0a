/** ProtoJSON as A2A wants it: one strict reader and one writer for every JSON wire (specification 5.5). */
import type { DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { Fault } from "./fault.js";
import { type ParseOptions, parseJson } from "./parse.js";
import { messageReader } from "./read.js";
import { messageWriter } from "./write.js";

export { decodeUtf8, type ParseOptions, parseJson } from "./parse.js";
export { endOfString } from "./scan.js";

/** How strictly a value is read. */
export interface ReadOptions {
  /** Refuse unknown fields instead of ignoring them. Default false. */
  readonly strict?: boolean;
}

/**
 * The message as ProtoJSON, on one line. REQUIRED scalars, enums, lists and maps are always there, other fields
 * when they are set. Throws INTERNAL for a timestamp, duration or field mask that has no JSON form.
 */
export function writeJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): string {
  return messageWriter(schema).write(message);
}

/** What `writeJson` writes, as a value. */
export function toJsonValue<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue {
  return JSON.parse(writeJson(schema, message)) as JsonValue;
}

/**
 * Reads a JSON text as a message. Throws what `parseJson` throws, and INVALID_ARGUMENT with the path of the
 * first field that does not hold what it must.
 */
export function readJson<Desc extends DescMessage>(
  schema: Desc,
  text: string | Uint8Array,
  options: ReadOptions & Omit<ParseOptions, "exact"> = {},
): MessageShape<Desc> {
  return readJsonValue(schema, parseJson(text, { ...options, exact: true }), options);
}

/**
 * Reads a parsed value as a message, which may keep parts of the value: do not change it afterwards. Parse
 * with `exact` for 64-bit integers. Throws INVALID_ARGUMENT with the path of the first field that does not hold
 * what it must.
 */
export function readJsonValue<Desc extends DescMessage>(
  schema: Desc,
  value: JsonValue,
  options: ReadOptions = {},
): MessageShape<Desc> {
  try {
    return messageReader(schema).read(value, options.strict === true) as MessageShape<Desc>;
  } catch (thrown) {
    throw thrown instanceof Fault ? thrown.toA2AError() : thrown;
  }
}
