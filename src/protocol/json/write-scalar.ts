import { ScalarType } from "@bufbuild/protobuf";

/** Writes one value as JSON text. */
export type WriteValue = (value: unknown) => string;

/** Below this length a loop beats the regular expression. */
const SHORT_LENGTH = 20;
/** Anything but printable text without quote, backslash and surrogates. */
const NEEDS_ESCAPE = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** A string as JSON text. A surrogate without its partner becomes U+FFFD, as it does in protobuf. */
export function quote(text: string): string {
  const { length } = text;
  if (length > SHORT_LENGTH) return NEEDS_ESCAPE.test(text) ? quoteEscaped(text) : `"${text}"`;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || unit >= 0xd800) return quoteEscaped(text);
  }
  return `"${text}"`;
}

function quoteEscaped(text: string): string {
  const escaped = JSON.stringify(text);
  return escaped.includes("\\ud") ? JSON.stringify(text.replace(LONE_SURROGATE, "\ufffd")) : escaped;
}

/** A finite number as JSON text; whole ones have no fraction. */
export function writeNumber(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

function writeFloat(value: unknown): string {
  const number = value as number;
  return Number.isFinite(number) ? writeNumber(number) : `"${number}"`;
}

function writeBytes(value: unknown): string {
  const bytes = value as Uint8Array;
  return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}"`;
}

const writeString: WriteValue = (value) => quote(value as string);
const writePlain: WriteValue = (value) => String(value);
const writeQuoted: WriteValue = (value) => `"${value}"`;

/** The writer of a scalar type: 64-bit integers as strings, NaN and Infinity by name, bytes as padded base64. */
export function scalarWriter(type: ScalarType): WriteValue {
  switch (type) {
    case ScalarType.STRING:
      return writeString;
    case ScalarType.BYTES:
      return writeBytes;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return writeFloat;
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.SINT64:
      return writeQuoted;
    default:
      return writePlain;
  }
}

/** The JSON text of a scalar type's zero value. */
export function scalarZero(type: ScalarType): string {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return '""';
    case ScalarType.BOOL:
      return "false";
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.SINT64:
      return '"0"';
    default:
      return "0";
  }
}

/** The items of a list as JSON text, without the brackets. */
export function joinValues<T>(values: readonly T[], write: (value: T) => string): string {
  let text = "";
  for (const value of values) text = text === "" ? write(value) : `${text},${write(value)}`;
  return text;
}

/** The entries of a map as JSON text, without the braces. */
export function joinEntries<T>(map: Readonly<Record<string, T>>, write: (value: T) => string): string {
  let text = "";
  for (const [key, value] of Object.entries(map)) {
    const entry = `${quote(key)}:${write(value)}`;
    text = text === "" ? entry : `${text},${entry}`;
  }
  return text;
}
