import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { BinaryInput } from "./input.js";
import type { BinaryOutput } from "./output.js";
import { define } from "./shape.js";

/** Tags of google.protobuf.Value; each of its kinds takes one byte. */
const NULL = 0x08;
const NUMBER = 0x11;
const STRING = 0x1a;
const BOOL = 0x20;
const STRUCT = 0x2a;
const LIST = 0x32;

/** Tags of a map's entry, of `Struct.fields` and of `ListValue.values`. */
const KEY = 0x0a;
const ENTRY_VALUE = 0x12;
const ITEM = 0x0a;

/** Writes a plain object as a google.protobuf.Struct, with its length. */
export function putStruct(out: BinaryOutput, value: unknown): void {
  const opened = out.open();
  for (const [key, member] of Object.entries(value as JsonObject)) {
    out.varint(ITEM);
    const entry = out.open();
    out.varint(KEY);
    out.text(key);
    out.varint(ENTRY_VALUE);
    putValue(out, member);
    out.close(entry);
  }
  out.close(opened);
}

function putList(out: BinaryOutput, items: readonly JsonValue[]): void {
  const opened = out.open();
  for (const item of items) {
    out.varint(ITEM);
    putValue(out, item);
  }
  out.close(opened);
}

function putValue(out: BinaryOutput, value: JsonValue): void {
  const opened = out.open();
  putKind(out, value);
  out.close(opened);
}

function putKind(out: BinaryOutput, value: JsonValue): void {
  switch (typeof value) {
    case "number":
      out.varint(NUMBER);
      out.double(value);
      break;
    case "string":
      out.varint(STRING);
      out.text(value);
      break;
    case "boolean":
      out.varint(BOOL);
      out.varint(value ? 1 : 0);
      break;
    case "object":
      putObject(out, value);
  }
}

function putObject(out: BinaryOutput, value: JsonObject | readonly JsonValue[] | null): void {
  if (value === null) {
    out.varint(NULL);
    out.varint(0);
  } else if (Array.isArray(value)) {
    out.varint(LIST);
    putList(out, value);
  } else {
    out.varint(STRUCT);
    putStruct(out, value);
  }
}

/** Reads a google.protobuf.Struct up to `end`, into `object`: keys that are there already get the newer value. */
export function takeStruct(input: BinaryInput, end: number, object: JsonObject): JsonObject {
  input.enter();
  while (input.at < end) {
    const tag = input.tag();
    if (tag === ITEM) takeEntry(input, input.end(), object);
    else input.skip(tag);
  }
  input.leave(end);
  return object;
}

function takeEntry(input: BinaryInput, end: number, object: JsonObject): void {
  let key = "";
  let value: JsonValue = null;
  while (input.at < end) {
    const tag = input.tag();
    if (tag === KEY) key = input.text();
    else if (tag === ENTRY_VALUE) value = takeValue(input, input.end());
    else input.skip(tag);
  }
  input.expect(end);
  define(object, key, value);
}

function takeList(input: BinaryInput, end: number, items: JsonValue[]): JsonValue[] {
  input.enter();
  while (input.at < end) {
    const tag = input.tag();
    if (tag === ITEM) items.push(takeValue(input, input.end()));
    else input.skip(tag);
  }
  input.leave(end);
  return items;
}

/** A Value of no kind reads as null. */
function takeValue(input: BinaryInput, end: number): JsonValue {
  let value: JsonValue = null;
  input.enter();
  while (input.at < end) value = takeKind(input, input.tag(), value);
  input.leave(end);
  return value;
}

/** An object or list that is there already is added to: of a message given in pieces, each piece counts. */
function takeKind(input: BinaryInput, tag: number, before: JsonValue): JsonValue {
  switch (tag) {
    case NULL:
      input.varint();
      return null;
    case NUMBER:
      return input.double();
    case STRING:
      return input.text();
    case BOOL:
      return input.bool();
    case STRUCT:
      return takeStruct(input, input.end(), isObject(before) ? before : {});
    case LIST:
      return takeList(input, input.end(), Array.isArray(before) ? before : []);
    default:
      input.skip(tag);
      return before;
  }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
