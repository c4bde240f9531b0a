import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { readJsonValue } from "../protocol/json/index.js";
import { type Message, type Part, PartSchema } from "../protocol/schema.js";

/** What an agent says: a text, one part, or several parts. */
export type Content = string | Part | readonly Part[];

/** What any part may carry besides its content. */
export interface PartOptions {
  /** Media type; unset: the obvious one for the kind of content. */
  readonly mediaType?: string;
  /** Free for sender and receiver. */
  readonly metadata?: JsonObject;
}

/** A part with text. */
export function text(value: string, options: PartOptions = {}): Part {
  const { mediaType = "", metadata } = options;
  // A literal, as in `core/owned.ts`: every chunk of text has such a part.
  const part: Part = {
    $typeName: "lf.a2a.v1.Part",
    content: { case: "text", value },
    filename: "",
    mediaType,
  };
  if (metadata !== undefined) part.metadata = metadata;
  return part;
}

/**
 * A part with any JSON value, null included. Properties that are undefined are left out, as in JSON. Throws a
 * TypeError for what JSON cannot say, such as NaN or a function.
 */
export function data(value: JsonValue, options: PartOptions = {}): Part {
  const json = JSON.stringify(value, finite) as string | undefined;
  if (json === undefined) throw new TypeError(`data() takes a JSON value, not ${describe(value)}.`);
  const content = readJsonValue(ValueSchema, JSON.parse(json) as JsonValue);
  return create(PartSchema, { ...options, content: { case: "data", value: content } });
}

/** JSON would write null for these, and the caller would never know. */
function finite(_key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`data() takes a JSON value, not ${value}.`);
  }
  return value;
}

/** A file: its bytes (a text is encoded as UTF-8), or the address where it can be fetched. */
export type FileInit = PartOptions & { readonly name?: string } & (
    | { readonly bytes: Uint8Array | string }
    | { readonly url: string }
  );

/** A part with a file. */
export function file(init: FileInit): Part {
  const { name: filename, mediaType, metadata } = init;
  return create(PartSchema, {
    ...(filename !== undefined && { filename }),
    ...(mediaType !== undefined && { mediaType }),
    ...(metadata !== undefined && { metadata }),
    content: "url" in init ? { case: "url", value: init.url } : { case: "raw", value: bytesOf(init.bytes) },
  });
}

function bytesOf(content: Uint8Array | string): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}

/** The text of a message: its text parts, one after the other. Empty when there are none. */
export function textOf(message: Pick<Message, "parts">): string {
  return message.parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}

/** Content as parts. Throws a TypeError for anything that is no content, which an agent in JavaScript may hand over. */
export function partsOf(content: Content): Part[] {
  if (typeof content === "string") return [text(content)];
  const parts = Array.isArray(content) ? (content as readonly unknown[]) : [content];
  return parts.map(partOf);
}

function partOf(value: unknown): Part {
  if (typeof value === "string") return text(value);
  if (isRecord(value) && isRecord(value.content) && "case" in value.content) {
    return create(PartSchema, value as Part);
  }
  throw new TypeError(`Expected text or parts, not ${describe(value)}.`);
}

/** True for anything that can have properties. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** How an error names a value that an agent handed over. */
export function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return "an array";
  return isRecord(value)
    ? `an object with ${Object.keys(value).join(", ") || "no properties"}`
    : `a ${typeof value}`;
}
