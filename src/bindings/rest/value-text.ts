import { create, type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { DurationSchema, FieldMaskSchema, isWrapperDesc, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { A2AError } from "../../errors.js";
import { readJsonValue } from "../../protocol/json/index.js";

/** How one value is written as text in a path or a query. */
export interface ValueText {
  /** The value as a message keeps it, undefined when the text is not one. */
  readonly parse: (text: string) => unknown;
  /** What was expected, for the caller: "a 32-bit integer". */
  readonly expected: string;
  /** True where a list may also be written with commas: numbers and enums, whose values hold none. */
  readonly splits: boolean;
}

const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;
const DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

const INT32: readonly [bigint, bigint] = [-(2n ** 31n), 2n ** 31n - 1n];
const UINT32: readonly [bigint, bigint] = [0n, 2n ** 32n - 1n];
const INT64: readonly [bigint, bigint] = [-(2n ** 63n), 2n ** 63n - 1n];
const UINT64: readonly [bigint, bigint] = [0n, 2n ** 64n - 1n];

/** The types of google.protobuf that ProtoJSON writes as one string. */
const STRING_FORMS = new Map<string, string>([
  [TimestampSchema.typeName, "an RFC 3339 timestamp"],
  [DurationSchema.typeName, "a duration in seconds, such as 1.5s"],
  [FieldMaskSchema.typeName, "field paths in lowerCamelCase, joined by commas"],
]);

/**
 * The text form of a field's value, or of one item when it is a list. Undefined where there is none: maps and
 * messages other than wrappers, Timestamp, Duration and FieldMask.
 */
export function valueTextOf(field: DescField): ValueText | undefined {
  if (field.fieldKind === "map") return undefined;
  if (field.message) return messageText(field, field.message);
  if (field.enum) return enumText(field.enum);
  return field.scalar === undefined ? undefined : scalarText(field.scalar, longAsString(field));
}

function longAsString(field: DescField): boolean {
  return "longAsString" in field && field.longAsString === true;
}

function messageText(field: DescField, desc: DescMessage): ValueText | undefined {
  if (isWrapperDesc(desc)) {
    const bare = scalarText(desc.fields[0].scalar, false);
    if (field.fieldKind === "message" && field.oneof === undefined) return bare;
    return { ...bare, parse: (text) => wrap(desc, bare.parse(text)) };
  }
  const expected = STRING_FORMS.get(desc.typeName);
  return expected === undefined
    ? undefined
    : { parse: (text) => parseString(desc, text), expected, splits: false };
}

function wrap(desc: DescMessage, value: unknown): unknown {
  return value === undefined ? undefined : create(desc, { value });
}

function parseString(desc: DescMessage, text: string): unknown {
  try {
    return readJsonValue(desc, text);
  } catch (thrown) {
    if (thrown instanceof A2AError) return undefined;
    throw thrown;
  }
}

function enumText(desc: DescEnum): ValueText {
  const byName = new Map(desc.values.map((value) => [value.name, value.number]));
  const numbers = new Set(byName.values());
  const parse = (text: string) => {
    const number = byName.get(text) ?? parseInteger(text, INT32);
    return number !== undefined && numbers.has(Number(number)) ? Number(number) : undefined;
  };
  return { parse, expected: `a value of ${desc.typeName}`, splits: true };
}

function scalarText(type: ScalarType, asString: boolean): ValueText {
  switch (type) {
    case ScalarType.STRING:
      return { parse: (text) => text, expected: "a string", splits: false };
    case ScalarType.BOOL:
      return { parse: parseBool, expected: "true or false", splits: false };
    case ScalarType.BYTES:
      return { parse: parseBytes, expected: "base64", splits: false };
    case ScalarType.DOUBLE:
      return { parse: parseDouble, expected: "a number", splits: true };
    case ScalarType.FLOAT:
      return { parse: parseFloat32, expected: "a 32-bit number", splits: true };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return int32Text(INT32, "a 32-bit integer");
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return int32Text(UINT32, "an unsigned 32-bit integer");
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return int64Text(INT64, "a 64-bit integer", asString);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return int64Text(UINT64, "an unsigned 64-bit integer", asString);
  }
}

function int32Text(range: readonly [bigint, bigint], expected: string): ValueText {
  const parse = (text: string) => {
    const value = parseInteger(text, range);
    return value === undefined ? undefined : Number(value);
  };
  return { parse, expected, splits: true };
}

function int64Text(range: readonly [bigint, bigint], expected: string, asString: boolean): ValueText {
  const parse = (text: string) => {
    const value = parseInteger(text, range);
    return value !== undefined && asString ? value.toString() : value;
  };
  return { parse, expected, splits: true };
}

/** Decimal digits only: no `+`, no leading zeros (other readers take them for octal), no exponent. */
function parseInteger(text: string, [least, most]: readonly [bigint, bigint]): bigint | undefined {
  // 20 characters hold every 64-bit integer; longer ones are not worth converting.
  if (text.length > 20 || !INTEGER.test(text)) return undefined;
  const value = BigInt(text);
  return value < least || value > most ? undefined : value;
}

function parseDouble(text: string): number | undefined {
  if (text === "NaN" || text === "Infinity" || text === "-Infinity") return Number(text);
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

function parseFloat32(text: string): number | undefined {
  const value = parseDouble(text);
  if (value === undefined || !Number.isFinite(value)) return value;
  const rounded = Math.fround(value);
  return Number.isFinite(rounded) ? rounded : undefined;
}

function parseBool(text: string): boolean | undefined {
  if (text === "true") return true;
  return text === "false" ? false : undefined;
}

/** Both alphabets of RFC 4648, with or without padding. */
function parseBytes(text: string): Uint8Array | undefined {
  const digits = text.replace(/=+$/, "").length;
  const whole = digits === text.length || text.length % 4 === 0;
  if (!BASE64.test(text) || digits % 4 === 1 || !whole) return undefined;
  return new Uint8Array(Buffer.from(text, "base64"));
}
