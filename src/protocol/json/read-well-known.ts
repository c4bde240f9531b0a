import {
  create,
  type DescMessage,
  type JsonObject,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { protoSnakeCase } from "@bufbuild/protobuf/reflect";
import {
  type Any,
  AnySchema,
  type Duration,
  DurationSchema,
  type FieldMask,
  FieldMaskSchema,
  hasCustomJsonRepresentation,
  isWrapperDesc,
  type ListValue,
  NullValue,
  type Struct,
  type Timestamp,
  type Value,
} from "@bufbuild/protobuf/wkt";
import { typeOfUrl } from "./any.js";
import { fieldsOf } from "./descriptors.js";
import { setEntry } from "./entries.js";
import { Fault } from "./fault.js";
import { asObject, Numeral, toPlainJson } from "./numeral.js";
import { step } from "./path.js";
import { scalarReader } from "./read-scalar.js";
import { DURATION_SECONDS, TIMESTAMP_SECONDS } from "./write-well-known.js";

type Read = (value: unknown, strict: boolean) => Message;
type ReaderOf = (desc: DescMessage) => { read: Read };

const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d{1,9}))?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const DURATION = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/;
const readBytes = scalarReader(ScalarType.BYTES) as (value: unknown) => Uint8Array;
const MASK_PATH = /^[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*$/;

/** The reader of a google.protobuf type with a JSON form of its own; undefined for any other. */
export function wellKnownReader(desc: DescMessage, readerOf: ReaderOf): Read | undefined {
  if (isWrapperDesc(desc)) return wrapperReader(desc, scalarReader(desc.fields[0].scalar));
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return readTimestamp;
    case "google.protobuf.Duration":
      return readDuration;
    case "google.protobuf.FieldMask":
      return readFieldMask;
    case "google.protobuf.Struct":
      return readStruct;
    case "google.protobuf.Value":
      return readValue;
    case "google.protobuf.ListValue":
      return readListValue;
    case "google.protobuf.Any":
      return (value, strict) => readAny(value, strict, readerOf);
    default:
      return undefined;
  }
}

function wrapperReader(desc: DescMessage, read: (value: unknown) => unknown): Read {
  return (value) => {
    const message = create(desc);
    fieldsOf(message).value = read(value);
    return message;
  };
}

/** Digits behind a point as nanoseconds. */
function nanosOf(fraction = ""): number {
  return Number(fraction.padEnd(9, "0"));
}

function readTimestamp(value: unknown): Timestamp {
  const parts = typeof value === "string" ? TIMESTAMP.exec(value) : null;
  if (!parts) throw new Fault("must be an RFC 3339 timestamp");
  const [text, year, month, day, , fraction] = parts;
  // Date takes the 30th of February for the 2nd of March.
  const midnight = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (midnight.getUTCDate() !== Number(day)) throw new Fault("must be an RFC 3339 timestamp");
  const zone = text.endsWith("Z") ? "Z" : text.slice(-6);
  const seconds = Date.parse(text.slice(0, 19) + zone) / 1000;
  if (seconds < TIMESTAMP_SECONDS.least || seconds > TIMESTAMP_SECONDS.most) {
    throw new Fault("must be between the years 1 and 9999");
  }
  return { $typeName: "google.protobuf.Timestamp", seconds: BigInt(seconds), nanos: nanosOf(fraction) };
}

function readDuration(value: unknown): Duration {
  const parts = typeof value === "string" ? DURATION.exec(value) : null;
  if (!parts) throw new Fault('must be a duration in seconds, like "1.5s"');
  const [, sign, whole, fraction] = parts;
  const seconds = Number(whole);
  if (seconds > DURATION_SECONDS) throw new Fault("must not be longer than 10000 years");
  const factor = sign === "-" ? -1 : 1;
  // "+ 0" makes -0 a 0.
  return create(DurationSchema, { seconds: BigInt(seconds * factor), nanos: nanosOf(fraction) * factor + 0 });
}

function readFieldMask(value: unknown): FieldMask {
  if (typeof value !== "string") throw new Fault("must be a comma separated list of field names");
  const paths = value === "" ? [] : value.split(",");
  for (const path of paths) {
    if (!MASK_PATH.test(path)) throw new Fault("must hold field names in lowerCamelCase");
  }
  return create(FieldMaskSchema, { paths: paths.map(protoSnakeCase) });
}

/** A Struct field, which messages keep as a plain object: nulls inside it stay. */
export function readPlainStruct(value: unknown): JsonObject {
  return toPlainJson(asObject(value) as JsonObject) as JsonObject;
}

function readStruct(value: unknown): Struct {
  const fields: Struct["fields"] = {};
  for (const [key, item] of Object.entries(asObject(value))) setEntry(fields, key, readValue(item));
  return { $typeName: "google.protobuf.Struct", fields };
}

function readListValue(value: unknown): ListValue {
  if (!Array.isArray(value)) throw new Fault("must be a list");
  return { $typeName: "google.protobuf.ListValue", values: value.map(readValue) };
}

function readValue(value: unknown): Value {
  return { $typeName: "google.protobuf.Value", kind: kindOf(value) };
}

function kindOf(value: unknown): Value["kind"] {
  switch (typeof value) {
    case "string":
      return { case: "stringValue", value };
    case "number":
      return { case: "numberValue", value };
    case "boolean":
      return { case: "boolValue", value };
    default:
      if (value === null) return { case: "nullValue", value: NullValue.NULL_VALUE };
      if (value instanceof Numeral) return { case: "numberValue", value: value.valueOf() };
      if (Array.isArray(value)) return { case: "listValue", value: readListValue(value) };
      return { case: "structValue", value: readStruct(value) };
  }
}

/** The inverse of how Any is written: a type that is not known here comes as bytes, in `value`. */
function readAny(value: unknown, strict: boolean, readerOf: ReaderOf): Any {
  const { "@type": typeUrl, ...rest } = asObject(value);
  if (typeUrl === undefined && Object.keys(rest).length === 0) return create(AnySchema);
  if (typeof typeUrl !== "string" || typeUrl === "") throw new Fault("must be a type URL").at(step("@type"));
  const desc = typeOfUrl(typeUrl);
  if (!desc) return create(AnySchema, { typeUrl, value: readBytes(rest.value) });
  const message = readerOf(desc).read(hasCustomJsonRepresentation(desc) ? rest.value : rest, strict);
  return create(AnySchema, { typeUrl, value: toBinary(desc, message) });
}
