import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type MessageShape,
  mergeFromBinary,
  ScalarType,
  type UnknownField,
} from "@bufbuild/protobuf";
import { blankOf } from "../blank.js";
import { BinaryInput, type DecodeLimits } from "./input.js";
import { define, type Element, elementOf, type Fields, tagOf, WIRE, wireTypeOf } from "./shape.js";
import { takeStruct } from "./struct.js";

/** Reads one field, after its tag, into a message. */
type Step = (input: BinaryInput, message: Fields) => void;
/** Reads one value. `before` is what the field holds already: messages are merged into it. */
type Take = (input: BinaryInput, before: unknown) => unknown;

/** How a type is read. */
interface Plan {
  /** A message with nothing set. */
  readonly blank: () => Fields;
  /** Reads fields up to `end` into a message. */
  readonly read: (input: BinaryInput, end: number, message: Fields) => Fields;
}

const plans = new WeakMap<DescMessage, Plan>();

/**
 * Decodes protobuf as protobuf-es does, unknown fields included, but keeps a byte order mark that a text begins
 * with, and a key `__proto__`. Compiled once per type, which makes it several times faster. Throws any error for
 * bytes that are no such message: malformed or cut, invalid UTF-8, or beyond the limits.
 */
export function decodeBinary<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  limits: DecodeLimits = {},
): MessageShape<Desc> {
  const { blank, read } = planOf(schema);
  const input = new BinaryInput(bytes, limits);
  return read(input, input.length, blank()) as unknown as MessageShape<Desc>;
}

function planOf(desc: DescMessage): Plan {
  return plans.get(desc) ?? compile(desc);
}

/** A type that contains itself finds its plan while that is still being filled. */
function compile(desc: DescMessage): Plan {
  const steps: Step[] = [];
  const isKnown = desc.fields.every((field) => elementOf(field));
  const plan = {
    blank: blankOf(desc),
    read: isKnown ? toRead(steps) : toForeignRead(desc),
  };
  plans.set(desc, plan);
  if (isKnown) for (const field of desc.fields) steps[tagOfField(field)] = toStep(field);
  return plan;
}

function tagOfField(field: DescField): number {
  const element = elementOf(field) as Element;
  return tagOf(field.number, field.fieldKind === "map" ? WIRE.delimited : wireTypeOf(element));
}

/** `steps` is by tag: a field of another wire type than its own counts as unknown. */
function toRead(steps: readonly Step[]): Plan["read"] {
  return (input, end, message) => {
    input.enter();
    while (input.at < end) {
      const tag = input.tag();
      const step = steps[tag];
      if (step) step(input, message);
      else keepUnknown(message, { no: tag >>> 3, wireType: tag & 7, data: input.unknown(tag) });
    }
    input.leave(end);
    return message;
  };
}

function keepUnknown(message: Fields, field: UnknownField): void {
  const unknown = (message.$unknown ?? []) as UnknownField[];
  unknown.push(field);
  message.$unknown = unknown;
}

/** For types that are left to protobuf-es. */
function toForeignRead(desc: DescMessage): Plan["read"] {
  return (input, end, message) => {
    mergeFromBinary(desc, message as never, input.take(end), { recursionLimit: input.depthLeft });
    return message;
  };
}

function toStep(field: DescField): Step {
  const element = elementOf(field) as Element;
  const take = toTake(element);
  const name = field.localName;
  switch (field.fieldKind) {
    case "list":
      return (input, message) => {
        const list = message[name] as unknown[];
        const item = take(input, undefined);
        if (list.length > 0) list.push(item);
        else message[name] = [item]; // most lists have one item, and the first push makes room for seventeen
      };
    case "map":
      return toMapStep(name, element);
    default:
      if (field.oneof) return toOneofStep(field.oneof.localName, name, take);
      if (element.kind === "scalar") return toScalarStep(name, take);
      return (input, message) => {
        message[name] = take(input, message[name]);
      };
  }
}

/** Nothing is merged here: the last one counts. */
function toScalarStep(name: string, take: Take): Step {
  return (input, message) => {
    message[name] = take(input, undefined);
  };
}

function toOneofStep(oneof: string, name: string, take: Take): Step {
  return (input, message) => {
    const chosen = message[oneof] as { readonly case?: string; readonly value?: unknown };
    message[oneof] = { case: name, value: take(input, chosen.case === name ? chosen.value : undefined) };
  };
}

const KEY: Element = { kind: "scalar", type: ScalarType.STRING };
const KEY_TAG = tagOf(1, WIRE.delimited);

function toMapStep(name: string, element: Element): Step {
  const takeKey = toTake(KEY);
  const takeValue = toTake(element);
  const valueTag = tagOf(2, wireTypeOf(element));
  const missing = toMissing(element);
  return (input, message) => {
    const end = input.end();
    let key: unknown = "";
    let value: unknown;
    while (input.at < end) {
      const tag = input.tag();
      if (tag === KEY_TAG) key = takeKey(input, undefined);
      else if (tag === valueTag) value = takeValue(input, undefined);
      else input.skip(tag);
    }
    input.expect(end);
    define(message[name] as Fields, key as string, value ?? missing());
  };
}

/** The value of a map's entry that does not state one. */
function toMissing(element: Element): () => unknown {
  if (element.kind === "message") return () => planOf(element.desc).blank();
  return () => "";
}

function toTake(element: Element): Take {
  switch (element.kind) {
    case "scalar":
      return SCALARS.get(element.type) as Take;
    case "struct":
      return (input, before) => takeStruct(input, input.end(), (before ?? {}) as JsonObject);
    case "message":
      return toMessageTake(planOf(element.desc));
  }
}

function toMessageTake({ blank, read }: Plan): Take {
  return (input, before) => read(input, input.end(), (before ?? blank()) as Fields);
}

const SCALARS: ReadonlyMap<ScalarType, Take> = new Map<ScalarType, Take>([
  [ScalarType.STRING, (input) => input.text()],
  [ScalarType.BYTES, (input) => input.bytes()],
  [ScalarType.BOOL, (input) => input.bool()],
  [ScalarType.INT32, (input) => input.varint() | 0],
  [ScalarType.UINT32, (input) => input.varint()],
  [ScalarType.INT64, (input) => input.int64()],
  [ScalarType.DOUBLE, (input) => input.double()],
]);
