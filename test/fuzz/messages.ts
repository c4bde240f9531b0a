import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import {
  anyPack,
  DurationSchema,
  isWrapperDesc,
  ListValueSchema,
  StructSchema,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

/** Random messages of a type, as deep as `depth` allows: every kind of field, extremes included. */
export function messages(desc: DescMessage, depth = 4): fc.Arbitrary<Message> {
  return wellKnown(desc) ?? plain(desc, depth);
}

function plain(desc: DescMessage, depth: number): fc.Arbitrary<Message> {
  const members = desc.members.map((member) => {
    const some =
      member.kind === "field"
        ? value(member, depth)
        : fc.oneof(...member.fields.map((field) => chosen(field, depth)));
    return fc.option(
      some.map((it) => [member.localName, it] as const),
      { nil: undefined },
    );
  });
  return fc.tuple(...members).map((entries) => {
    const present = entries.filter((entry) => entry !== undefined);
    return Object.assign(create(desc), Object.fromEntries(present)) as Message;
  });
}

function chosen(field: DescField, depth: number): fc.Arbitrary<unknown> {
  return value(field, depth).map((some) => ({ case: field.localName, value: some }));
}

function value(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const maxLength = depth > 0 ? 3 : 0;
  if (field.fieldKind === "list") return fc.array(item(field, depth), { maxLength });
  if (field.fieldKind !== "map") return item(field, depth);
  return fc
    .uniqueArray(fc.tuple(keys, item(field, depth)), { maxLength, selector: ([key]) => key })
    .map((entries) => Object.fromEntries(entries));
}

function item(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.enum?.typeName === "google.protobuf.NullValue") return fc.constant(0);
  if (field.enum)
    return fc.oneof(fc.constantFrom(...field.enum.values.map(({ number }) => number)), fc.integer());
  if (!field.message) return scalars(field.scalar, "longAsString" in field && field.longAsString);
  if (field.message.typeName === "google.protobuf.Struct") return structs;
  if (field.fieldKind === "message" && !field.oneof && isWrapperDesc(field.message)) {
    return scalars(field.message.fields[0].scalar);
  }
  return depth > 0 ? messages(field.message, depth - 1) : fc.constant(create(field.message));
}

/** Text of any script, without half surrogate pairs, which protobuf cannot carry. */
export const strings = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "binary-ascii", maxLength: 40 }),
);

/** The key that JavaScript treats in its own way does not survive protobuf-es; the unit tests have it. */
const keys = strings.filter((key) => key !== "__proto__");

/** JSON as a Struct or Value holds it; a -0 or the key __proto__ would not survive protobuf-es. */
const json: fc.Arbitrary<JsonValue> = fc.letrec<{ json: JsonValue; list: JsonValue[]; object: JsonObject }>(
  (tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, false),
      strings,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      fc.integer(),
      tie("list"),
      tie("object"),
    ),
    list: fc.array(tie("json"), { maxLength: 3 }),
    object: fc.dictionary(keys, tie("json"), { maxKeys: 3, noNullPrototype: true }),
  }),
).json;

const structs = fc.dictionary(keys, json, { maxKeys: 3, noNullPrototype: true });

const nanos = fc.oneof(
  fc.integer({ min: 0, max: 999_999_999 }),
  fc.integer({ min: 0, max: 999 }).map((ms) => ms * 1_000_000),
);

const durations = fc
  .tuple(fc.bigInt(0n, 315_576_000_000n), nanos, fc.constantFrom(1, -1))
  .map(([seconds, rest, sign]) => ({ seconds: seconds * BigInt(sign), nanos: rest * sign + 0 }));

function wellKnown(desc: DescMessage): fc.Arbitrary<Message> | undefined {
  const made = (init: fc.Arbitrary<object>) =>
    init.map((fields) => Object.assign(create(desc), fields) as Message);
  if (isWrapperDesc(desc)) return made(fc.record({ value: scalars(desc.fields[0].scalar) }));
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return made(fc.record({ seconds: fc.bigInt(-62_135_596_800n, 253_402_300_799n), nanos }));
    case "google.protobuf.Duration":
      return made(durations);
    case "google.protobuf.FieldMask":
      return made(
        fc.record({
          paths: fc.array(fc.stringMatching(/^[a-z]{1,5}(_[a-z]{1,5})?(\.[a-z]{1,5})?$/), { maxLength: 3 }),
        }),
      );
    case "google.protobuf.Struct":
      return structs.map((value) => fromJson(StructSchema, value));
    case "google.protobuf.Value":
      return json.map((value) => fromJson(ValueSchema, value));
    case "google.protobuf.ListValue":
      return fc.array(json, { maxLength: 3 }).map((value) => fromJson(ListValueSchema, value));
    case "google.protobuf.Any":
      return durations.map((value) => anyPack(DurationSchema, create(DurationSchema, value)));
    default:
      return undefined;
  }
}

function scalars(type: ScalarType, longAsString = false): fc.Arbitrary<unknown> {
  const long = (unsigned: boolean) => {
    const numbers = unsigned ? fc.bigInt(0n, 2n ** 64n - 1n) : fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
    return longAsString ? numbers.map(String) : numbers;
  };
  switch (type) {
    case ScalarType.STRING:
      return strings;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 9 });
    case ScalarType.DOUBLE:
      return fc.double().map((number) => number + 0);
    case ScalarType.FLOAT:
      return fc.float().map((number) => number + 0);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.nat({ max: 0xffff_ffff });
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return long(true);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return long(false);
    default:
      return fc.integer();
  }
}
