import type { DescMessage, JsonObject, Message } from "@bufbuild/protobuf";
import { protoCamelCase, protoSnakeCase } from "@bufbuild/protobuf/reflect";
import {
  type Any,
  type Duration,
  type FieldMask,
  hasCustomJsonRepresentation,
  isWrapperDesc,
  type ListValue,
  type Struct,
  type Timestamp,
  type Value,
} from "@bufbuild/protobuf/wkt";
import { A2AError } from "../../errors.js";
import { openAny } from "./any.js";
import { fieldsOf } from "./descriptors.js";
import { joinEntries, joinValues, quote, scalarWriter, writeNumber } from "./write-scalar.js";

const DAY_SECONDS = 86_400;

type Write = (message: Message) => string;
type WriterOf = (desc: DescMessage) => { write: Write };

/** Seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the ends of a Timestamp. */
export const TIMESTAMP_SECONDS = { least: -62_135_596_800, most: 253_402_300_799 } as const;
/** Seconds of the longest Duration, ten thousand years. */
export const DURATION_SECONDS = 315_576_000_000;

/** The writer of a google.protobuf type with a JSON form of its own; undefined for any other. */
export function wellKnownWriter(desc: DescMessage, writerOf: WriterOf): Write | undefined {
  if (isWrapperDesc(desc)) {
    const write = scalarWriter(desc.fields[0].scalar);
    return (message) => write(fieldsOf(message).value);
  }
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return (message) => writeTimestamp(message as Timestamp);
    case "google.protobuf.Duration":
      return (message) => writeDuration(message as Duration);
    case "google.protobuf.FieldMask":
      return (message) => writeFieldMask(message as FieldMask);
    case "google.protobuf.Struct":
      return (message) => writeStruct(message as Struct);
    case "google.protobuf.Value":
      return (message) => writeValue(message as Value);
    case "google.protobuf.ListValue":
      return (message) => writeList(message as ListValue);
    case "google.protobuf.Any":
      return (message) => writeAny(message as Any, writerOf);
    default:
      return undefined;
  }
}

/** A message that has no JSON form was made by us or by an agent, never by the caller. */
function unwritable(what: string): A2AError {
  return new A2AError("INTERNAL", { cause: new RangeError(`${what} has no JSON form`) });
}

/** Nanoseconds as `.123`, `.123456` or `.123456789`, whichever loses nothing; nothing for zero. */
function fraction(nanos: number): string {
  if (nanos === 0) return "";
  const digits = String(nanos).padStart(9, "0");
  if (digits.endsWith("000000")) return `.${digits.slice(0, 3)}`;
  return digits.endsWith("000") ? `.${digits.slice(0, 6)}` : `.${digits}`;
}

function writeTimestamp({ seconds, nanos }: Timestamp): string {
  const whole = Number(seconds);
  const inRange = whole >= TIMESTAMP_SECONDS.least && whole <= TIMESTAMP_SECONDS.most;
  if (!inRange || nanos < 0 || nanos > 999_999_999) throw unwritable("a timestamp out of range");
  const day = Math.floor(whole / DAY_SECONDS);
  const second = whole - day * DAY_SECONDS;
  const time = `${two(second / 3600)}:${two((second / 60) % 60)}:${two(second % 60)}`;
  return `"${dateOf(day)}T${time}${fraction(nanos)}Z"`;
}

/** The whole part of a number under 100 as two digits. */
function two(number: number): string {
  return number < 10 ? `0${Math.floor(number)}` : String(Math.floor(number));
}

/** The date last asked for: nearly all timestamps are of one day, and Date is slow. */
const latest = { day: Number.NaN, date: "" };

function dateOf(day: number): string {
  if (latest.day !== day) {
    latest.date = new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 10);
    latest.day = day;
  }
  return latest.date;
}

function writeDuration({ seconds, nanos }: Duration): string {
  const whole = Number(seconds);
  const mixed = (whole > 0 && nanos < 0) || (whole < 0 && nanos > 0);
  if (mixed || Math.abs(whole) > DURATION_SECONDS || Math.abs(nanos) > 999_999_999) {
    throw unwritable("a duration out of range");
  }
  const sign = whole < 0 || nanos < 0 ? "-" : "";
  return `"${sign}${Math.abs(whole)}${fraction(Math.abs(nanos))}s"`;
}

function writeFieldMask({ paths }: FieldMask): string {
  const names = paths.map((path) => {
    const name = protoCamelCase(path);
    if (protoSnakeCase(name) !== path) throw unwritable("a field mask that does not survive lowerCamelCase");
    return name;
  });
  return quote(names.join(","));
}

/**
 * A Struct field, which messages keep as a plain object. A number that is not finite comes out as null: JSON
 * has none, and one bad number must not make its whole task unreadable.
 */
export function writePlainStruct(object: JsonObject): string {
  const text = JSON.stringify(object);
  return text.includes("\\ud") ? writeJsonValue(object) : text;
}

/** A plain JSON value as text, whatever an agent put into it. */
function writeJsonValue(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") return writeJsonNumber(value);
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${joinValues(value, writeJsonValue)}]`;
  if (typeof value !== "object" || value === null) return "null";
  return `{${joinEntries(value as Record<string, unknown>, writeJsonValue)}}`;
}

function writeJsonNumber(value: number): string {
  return Number.isFinite(value) ? writeNumber(value) : "null";
}

function writeStruct({ fields }: Struct): string {
  return `{${joinEntries(fields, writeValue)}}`;
}

function writeList({ values }: ListValue): string {
  return `[${joinValues(values, writeValue)}]`;
}

/** A Value without a kind, which only protobuf can express, is written as null. */
function writeValue({ kind }: Value): string {
  switch (kind.case) {
    case "stringValue":
      return quote(kind.value);
    case "numberValue":
      return writeJsonNumber(kind.value);
    case "boolValue":
      return String(kind.value);
    case "structValue":
      return writeStruct(kind.value);
    case "listValue":
      return writeList(kind.value);
    default:
      return "null";
  }
}

/** A packed message under its `@type`; one of a type that is not known here keeps its bytes, as `value`. */
function writeAny(any: Any, writerOf: WriterOf): string {
  if (any.typeUrl === "") return "{}";
  const type = `"@type":${quote(any.typeUrl)}`;
  const opened = openAny(any);
  if (!opened) return `{${type},"value":"${Buffer.from(any.value).toString("base64")}"}`;
  const text = writerOf(opened.desc).write(opened.message);
  if (hasCustomJsonRepresentation(opened.desc)) return `{${type},"value":${text}}`;
  return text === "{}" ? `{${type}}` : `{${type},${text.slice(1)}`;
}
