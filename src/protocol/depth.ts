import type { DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";
import { isWrapperDesc, type ListValue, type Struct, type Value } from "@bufbuild/protobuf/wkt";
import { A2AError } from "../errors.js";
import { bareWrapperType, type Chosen, type Fields, isPlainStruct, memoize } from "./json/descriptors.js";

/** Levels of objects and lists that a caller's message may have, unless configured otherwise. */
export const DEFAULT_DEPTH = 100;

/**
 * Levels that anything in the gateway may have, whoever made it. Everything that goes through a message calls
 * itself once a level or twice, and Node's stack holds somewhat above 800 of them.
 */
export const DEEPEST = 300;

/** Levels of protobuf messages that so many levels of JSON can take: a Value comes with each object and list in it. */
export function binaryDepth(levels: number): number {
  return 2 * levels + 1;
}

/**
 * True when a message has more levels of objects and lists, counted as they stand in its ProtoJSON. Thus one
 * limit means the same in JSON and in protobuf. Comes back also from an object that contains itself.
 */
export function isDeeper<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  levels: number,
): boolean {
  return meterOf(schema).exceeds(message, levels);
}

/** The error for a message that has more levels than these. */
export function tooDeep(levels: number): A2AError {
  return new A2AError("INVALID_ARGUMENT", {
    text: `The message is nested too deep: more than ${levels} levels.`,
  });
}

/** Tells whether a value has more levels than are left. */
type Exceeds = (value: unknown, left: number) => boolean;

/** The meter of a message type, compiled on first use. */
const meterOf = memoize<{ exceeds: Exceeds }>(
  () => ({ exceeds: () => false }),
  (desc, made) => {
    made.exceeds = wellKnownMeter(desc) ?? plainMeter(desc);
  },
);

/** Types with a JSON form of their own; those left out have a form without levels. Nothing here uses Any. */
function wellKnownMeter(desc: DescMessage): Exceeds | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Value":
      return (value, left) => valueExceeds(value as Value, left);
    case "google.protobuf.ListValue":
      return (value, left) => listExceeds((value as ListValue).values, valueExceeds, left);
    case "google.protobuf.Struct":
      return (value, left) => listExceeds(Object.values((value as Struct).fields), valueExceeds, left);
    case "google.protobuf.Timestamp":
    case "google.protobuf.Duration":
    case "google.protobuf.FieldMask":
      return () => false;
    default:
      return isWrapperDesc(desc) ? () => false : undefined;
  }
}

function plainMeter(desc: DescMessage): Exceeds {
  const meters = desc.fields.map(fieldMeter).filter((meter) => meter !== undefined);
  return (message, left) => left < 1 || meters.some((exceeds) => exceeds(message, left - 1));
}

/** The meter of what a field holds; undefined for a field that adds no level. */
function fieldMeter(field: DescField): Exceeds | undefined {
  const { localName, oneof } = field;
  const exceeds = contentMeter(field);
  if (exceeds === undefined) return undefined;
  return (message, left) => {
    const value = oneof
      ? chosen((message as Fields)[oneof.localName] as Chosen, localName)
      : (message as Fields)[localName];
    return value !== undefined && exceeds(value, left);
  };
}

function chosen(member: Chosen, localName: string): unknown {
  return member.case === localName ? member.value : undefined;
}

function contentMeter(field: DescField): Exceeds | undefined {
  const item = itemMeter(field);
  switch (field.fieldKind) {
    case "list":
      return (items, left) => groupExceeds(items as readonly unknown[], item, left);
    case "map":
      return (map, left) => groupExceeds(Object.values(map as Fields), item, left);
    default:
      return item;
  }
}

function itemMeter(field: DescField): Exceeds | undefined {
  if (!field.message || bareWrapperType(field) !== undefined) return undefined;
  if (isPlainStruct(field)) return jsonExceeds;
  // A type that contains itself is still being compiled here: look its meter up when it runs.
  const target = meterOf(field.message);
  return (value, left) => target.exceeds(value, left);
}

/** An empty list or map counts for nothing, since in protobuf it is not there at all. */
function groupExceeds(items: readonly unknown[], item: Exceeds | undefined, left: number): boolean {
  return items.length > 0 && listExceeds(items, item, left);
}

function listExceeds<T>(
  items: readonly T[],
  item: ((value: T, left: number) => boolean) | undefined,
  left: number,
): boolean {
  return left < 1 || (item !== undefined && items.some((each) => item(each, left - 1)));
}

function valueExceeds({ kind }: Value, left: number): boolean {
  switch (kind.case) {
    case "listValue":
      return listExceeds(kind.value.values, valueExceeds, left);
    case "structValue":
      return listExceeds(Object.values(kind.value.fields), valueExceeds, left);
    default:
      return false;
  }
}

/** The same for a Struct field, which is a plain object. */
function jsonExceeds(value: unknown, left: number): boolean {
  return typeof value === "object" && value !== null && listExceeds(Object.values(value), jsonExceeds, left);
}
