import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt";

/** A message's properties by their names. */
export type Fields = Record<string, unknown>;

export const WIRE = { varint: 0, bits64: 1, delimited: 2, groupStart: 3, groupEnd: 4, bits32: 5 } as const;

/** One value of a field, whether it stands alone or in a list or a map. */
export type Element =
  | { readonly kind: "scalar"; readonly type: ScalarType }
  | { readonly kind: "message"; readonly desc: DescMessage }
  /** A google.protobuf.Struct that is shown as a plain object. */
  | { readonly kind: "struct" };

const SCALARS: ReadonlySet<ScalarType> = new Set([
  ScalarType.STRING,
  ScalarType.BYTES,
  ScalarType.BOOL,
  ScalarType.INT32,
  ScalarType.UINT32,
  ScalarType.INT64,
  ScalarType.DOUBLE,
]);

const STRUCT = "google.protobuf.Struct";
const VALUE = "google.protobuf.Value";

/**
 * What a field holds; undefined when it is of a kind that no message of the protocol has (packed numbers, groups,
 * wrappers, maps with other keys than text). A type with such a field is left to protobuf-es as a whole.
 */
export function elementOf(field: DescField): Element | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return scalar(field.longAsString ? undefined : field.scalar);
    case "enum":
      return field.enum.open ? scalar(ScalarType.INT32) : undefined;
    case "message":
      return single(field);
    case "list":
      if (field.listKind === "message")
        return plainMessage(field.delimitedEncoding ? undefined : field.message);
      return field.listKind === "scalar" && !field.packed ? scalar(field.scalar) : undefined;
    case "map":
      if (field.mapKey !== ScalarType.STRING) return undefined;
      if (field.mapKind === "message") return plainMessage(field.message);
      return field.mapKind === "scalar" && field.scalar === ScalarType.STRING
        ? scalar(field.scalar)
        : undefined;
  }
}

function scalar(type: ScalarType | undefined): Element | undefined {
  return type !== undefined && SCALARS.has(type) ? { kind: "scalar", type } : undefined;
}

function single(field: DescField & { fieldKind: "message" }): Element | undefined {
  if (field.delimitedEncoding || isWrapperDesc(field.message)) return undefined;
  const isStruct = field.message.typeName === STRUCT && field.parent.typeName !== VALUE;
  return isStruct ? { kind: "struct" } : { kind: "message", desc: field.message };
}

function plainMessage(desc: DescMessage | undefined): Element | undefined {
  return desc && desc.typeName !== STRUCT ? { kind: "message", desc } : undefined;
}

/** True when a scalar or enum field at its zero value is not written. */
export function isImplicit(field: DescField): boolean {
  return field.presence === FeatureSet_FieldPresence.IMPLICIT && !field.oneof;
}

/** How a scalar goes over the wire. */
export function wireTypeOf(element: Element): number {
  if (element.kind !== "scalar") return WIRE.delimited;
  switch (element.type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WIRE.delimited;
    case ScalarType.DOUBLE:
      return WIRE.bits64;
    default:
      return WIRE.varint;
  }
}

export function tagOf(number: number, wireType: number): number {
  return number * 8 + wireType;
}

/** Sets a property, whatever its name: `__proto__` becomes an ordinary one. */
export function define(object: Fields, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
