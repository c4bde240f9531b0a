import { ScalarType } from "@bufbuild/protobuf";
import { Fault } from "./fault.js";
import { Numeral } from "./numeral.js";

/** Turns one JSON value, never null, into what a message holds; throws Fault. */
export type ReadValue = (value: unknown) => unknown;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BASE64 = /^[A-Za-z0-9+/_-]*(={0,2})$/;
/** No number of 64 bits needs more characters, however it is written. */
const LONGEST_INTEGER = 100;

const INT32 = { least: -0x8000_0000, most: 0x7fff_ffff };
const UINT32 = { least: 0, most: 0xffff_ffff };
const INT64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n };
const UINT64 = { least: 0n, most: 2n ** 64n - 1n };

/** The reader of a scalar type. `longAsString`: 64-bit integers are kept as strings, not as bigint. */
export function scalarReader(type: ScalarType, longAsString = false): ReadValue {
  switch (type) {
    case ScalarType.STRING:
      return readString;
    case ScalarType.BOOL:
      return readBool;
    case ScalarType.BYTES:
      return readBytes;
    case ScalarType.DOUBLE:
      return readDouble;
    case ScalarType.FLOAT:
      return readFloat;
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (value) => readInteger(value, INT32);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (value) => readInteger(value, UINT32);
    default: {
      const unsigned = type === ScalarType.UINT64 || type === ScalarType.FIXED64;
      const range = unsigned ? UINT64 : INT64;
      return longAsString ? (value) => String(readLong(value, range)) : (value) => readLong(value, range);
    }
  }
}

function readString(value: unknown): string {
  if (typeof value !== "string") throw new Fault("must be a string");
  return value;
}

function readBool(value: unknown): boolean {
  if (typeof value !== "boolean") throw new Fault("must be true or false");
  return value;
}

/** Both base64 alphabets, with or without padding. */
function readBytes(value: unknown): Uint8Array {
  const padding = typeof value === "string" ? BASE64.exec(value)?.[1] : undefined;
  if (typeof value !== "string" || padding === undefined) throw new Fault("must be base64");
  const torn = padding === "" ? value.length % 4 === 1 : value.length % 4 !== 0;
  if (torn) throw new Fault("must be base64");
  const buffer = Buffer.from(value, "base64");
  // A small buffer is a piece of a shared pool, which it would keep alive.
  const alone = buffer.byteLength === buffer.buffer.byteLength;
  return alone ? new Uint8Array(buffer.buffer) : new Uint8Array(buffer);
}

/** A number, or a number in a string. Undefined for anything else. */
function toNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (value instanceof Numeral) return value.valueOf();
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : undefined;
}

function readDouble(value: unknown): number {
  if (value === "NaN") return Number.NaN;
  if (value === "Infinity") return Number.POSITIVE_INFINITY;
  if (value === "-Infinity") return Number.NEGATIVE_INFINITY;
  const number = toNumber(value);
  if (number === undefined) throw new Fault("must be a number");
  if (!Number.isFinite(number)) throw new Fault("must be within the range of its type");
  return number;
}

function readFloat(value: unknown): number {
  const number = readDouble(value);
  if (Number.isFinite(number) && !Number.isFinite(Math.fround(number))) {
    throw new Fault("must be within the range of its type");
  }
  return number;
}

function readInteger(value: unknown, range: typeof INT32): number {
  const number = toNumber(value);
  if (number === undefined || !Number.isInteger(number)) throw new Fault("must be an integer");
  if (number < range.least || number > range.most) throw outOf(range);
  return number + 0; // -0 is 0
}

function readLong(value: unknown, range: typeof INT64): bigint {
  const integer = toLong(value);
  if (integer === undefined) throw new Fault("must be an integer");
  if (integer < range.least || integer > range.most) throw outOf(range);
  return integer;
}

function outOf(range: { readonly least: number | bigint; readonly most: number | bigint }): Fault {
  return new Fault(`must be between ${range.least} and ${range.most}`);
}

function toLong(value: unknown): bigint | undefined {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : undefined;
  if (value instanceof Numeral) return parseLong(value.text);
  return typeof value === "string" && NUMBER.test(value) ? parseLong(value) : undefined;
}

/** A JSON number that is whole, to the last digit: `12`, `12.0`, `1.2e1`. */
function parseLong(text: string): bigint | undefined {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const shift = Number(exponent);
  if (text.length > LONGEST_INTEGER || Math.abs(shift) > LONGEST_INTEGER) return undefined;
  const digits = (whole + fraction).padEnd(whole.length + shift, "0");
  const cut = Math.max(0, whole.length + shift);
  if (/[^0]/.test(digits.slice(cut))) return undefined;
  const integer = BigInt(digits.slice(0, cut));
  return sign === "" ? integer : -integer;
}

/** The reader of a map's keys: gives the property name, in one spelling per key. */
export function keyReader(type: ScalarType): (key: string) => string {
  if (type === ScalarType.STRING) return (key) => key;
  if (type === ScalarType.BOOL) return readBoolKey;
  const read = scalarReader(type);
  return (key) => {
    if (!/^-?\d+$/.test(key)) throw new Fault("must be an integer as its key");
    return String(read(key));
  };
}

function readBoolKey(key: string): string {
  if (key !== "true" && key !== "false") throw new Fault("must be true or false as its key");
  return key;
}
