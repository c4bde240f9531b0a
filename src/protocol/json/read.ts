import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { blankOf } from "../blank.js";
import {
  bareWrapperType,
  type Chosen,
  type Fields,
  fieldsOf,
  isPlainStruct,
  memoize,
} from "./descriptors.js";
import { setEntry } from "./entries.js";
import { Fault, located } from "./fault.js";
import { asObject } from "./numeral.js";
import { step } from "./path.js";
import { keyReader, scalarReader } from "./read-scalar.js";
import { readPlainStruct, wellKnownReader } from "./read-well-known.js";

/** Reads a value; `strict` refuses unknown fields below it. */
type Read = (value: unknown, strict: boolean) => unknown;

/** The compiled reader of one message type. */
export interface MessageReader {
  read: (value: unknown, strict: boolean) => Message;
}

interface FieldReader {
  readonly jsonName: string;
  readonly step: string;
  /** Puts the value into the message. */
  readonly set: (fields: Fields, value: unknown, strict: boolean) => void;
}

/** The reader of a message type, compiled on first use. Throws Fault. */
export const messageReader = memoize<MessageReader>(
  () => ({
    read: () => {
      throw new Fault("cannot be read yet");
    },
  }),
  (desc, made) => {
    made.read = wellKnownReader(desc, messageReader) ?? plainReader(desc);
  },
);

function plainReader(desc: DescMessage): MessageReader["read"] {
  const readers = readersOf(desc);
  const blank = blankOf(desc);
  return (value, strict) => {
    const object = asObject(value);
    const message = blank();
    const fields = fieldsOf(message);
    for (const key of Object.keys(object)) {
      const reader = readers.get(key);
      if (reader) readField(reader, fields, object, key, strict);
      else if (strict) throw new Fault("is not a known field").at(step(key));
    }
    return message;
  };
}

/** Readers by name. A JSON name wins over a proto name of another field. */
function readersOf(desc: DescMessage): ReadonlyMap<string, FieldReader> {
  const readers = new Map<string, FieldReader>();
  for (const field of desc.fields) {
    const { jsonName } = field;
    readers.set(jsonName, { jsonName, step: step(jsonName), set: fieldSetter(field) });
  }
  for (const { name, jsonName } of desc.fields) {
    if (!readers.has(name)) readers.set(name, readers.get(jsonName) as FieldReader);
  }
  return readers;
}

function readField(reader: FieldReader, fields: Fields, object: Fields, key: string, strict: boolean): void {
  try {
    if (key !== reader.jsonName && Object.hasOwn(object, reader.jsonName)) {
      throw new Fault("must not be given under both its names");
    }
    reader.set(fields, object[key], strict);
  } catch (thrown) {
    throw located(thrown, reader.step);
  }
}

function fieldSetter(field: DescField): FieldReader["set"] {
  const { localName } = field;
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    const read = field.fieldKind === "list" ? listReader(field) : mapReader(field);
    return (fields, value, strict) => {
      if (value !== null) fields[localName] = read(value, strict);
    };
  }
  const read = itemReader(field);
  const nullCounts = takesNull(field);
  if (field.oneof) return oneofSetter(field, field.oneof.localName, read, nullCounts);
  return (fields, value, strict) => {
    if (value !== null || nullCounts) fields[localName] = read(value, strict);
  };
}

function oneofSetter(
  field: DescField,
  property: string,
  read: Read,
  nullCounts: boolean,
): FieldReader["set"] {
  return (fields, value, strict) => {
    if (value === null && !nullCounts) return;
    const present = (fields[property] as Chosen).case;
    if (present !== undefined) throw new Fault(`must not be given together with ${present}`);
    fields[property] = { case: field.localName, value: read(value, strict) };
  };
}

/** True for the two types that have a null of their own. */
function takesNull(field: DescField): boolean {
  return (
    field.message?.typeName === "google.protobuf.Value" ||
    field.enum?.typeName === "google.protobuf.NullValue"
  );
}

/** The reader of a singular field's value, or of one item of a list or map. */
function itemReader(field: DescField): Read {
  if (field.enum) return enumReader(field.enum);
  if (!field.message) return scalarReader(field.scalar, "longAsString" in field && field.longAsString);
  if (isPlainStruct(field)) return readPlainStruct;
  const wrapped = bareWrapperType(field);
  if (wrapped !== undefined) return scalarReader(wrapped);
  const reader = messageReader(field.message);
  return (value, strict) => reader.read(value, strict);
}

/** Unknown names are refused; unknown numbers of an open enum are kept. */
function enumReader(desc: DescEnum): Read {
  const numbers = new Map(desc.values.map((value) => [value.name, value.number]));
  const known = new Set(numbers.values());
  const readNumber = scalarReader(ScalarType.INT32);
  return (value) => {
    if (value === null) return 0;
    const number = typeof value === "string" ? numbers.get(value) : (readNumber(value) as number);
    if (number === undefined || !(desc.open || known.has(number)))
      throw new Fault(`must be a name of ${desc.name}`);
    return number;
  };
}

function listReader(field: DescField): Read {
  const read = itemReader(field);
  const nullCounts = takesNull(field);
  return (value, strict) => {
    if (!Array.isArray(value)) throw new Fault("must be a list");
    return value.map((item, index) => readItem(read, item, nullCounts, strict, index));
  };
}

function mapReader(field: DescField & { readonly fieldKind: "map" }): Read {
  const read = itemReader(field);
  const readKey = keyReader(field.mapKey);
  const nullCounts = takesNull(field);
  return (value, strict) => {
    const map: Fields = {};
    for (const [text, item] of Object.entries(asObject(value))) {
      const key = readKey(text);
      if (Object.hasOwn(map, key)) throw new Fault("must not be given twice").at(step(text));
      setEntry(map, key, readItem(read, item, nullCounts, strict, text));
    }
    return map;
  };
}

function readItem(read: Read, item: unknown, nullCounts: boolean, strict: boolean, place: string | number) {
  try {
    if (item === null && !nullCounts) throw new Fault("must not be null");
    return read(item, strict);
  } catch (thrown) {
    throw located(thrown, step(place));
  }
}
