import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonObject,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { isScalarZeroValue } from "@bufbuild/protobuf/reflect";
import {
  bareWrapperType,
  type Chosen,
  type Fields,
  fieldsOf,
  isPlainStruct,
  isRequired,
  memoize,
} from "./descriptors.js";
import { joinEntries, joinValues, quote, scalarWriter, scalarZero, type WriteValue } from "./write-scalar.js";
import { wellKnownWriter, writePlainStruct } from "./write-well-known.js";

/** Adds what one member of a message contributes to the text of the members before it. */
type WriteMember = (fields: Fields, text: string) => string;

interface MessageWriter {
  write: (message: Message) => string;
}

// FeatureSet.FieldPresence.IMPLICIT
const IMPLICIT = 2;

/** The writer of a message type, compiled on first use. */
export const messageWriter = memoize<MessageWriter>(
  () => ({ write: () => "{}" }),
  (desc, made) => {
    made.write = wellKnownWriter(desc, messageWriter) ?? plainWriter(desc);
  },
);

function plainWriter(desc: DescMessage): (message: Message) => string {
  const members = desc.members.map((member) =>
    member.kind === "oneof" ? oneofMember(member) : fieldMember(member),
  );
  return (message) => {
    const fields = fieldsOf(message);
    let text = "";
    for (const member of members) text = member(fields, text);
    return `{${text}}`;
  };
}

function append(text: string, name: string, value: string): string {
  return text === "" ? name + value : `${text},${name}${value}`;
}

function nameOf(field: DescField): string {
  return `${quote(field.jsonName)}:`;
}

function oneofMember(oneof: DescOneof): WriteMember {
  const writers = new Map(
    oneof.fields.map((field) => [field.localName, { name: nameOf(field), write: singularWriter(field) }]),
  );
  return (fields, text) => {
    const chosen = fields[oneof.localName] as Chosen;
    if (chosen.case === undefined) return text;
    const writer = writers.get(chosen.case);
    return writer ? append(text, writer.name, writer.write(chosen.value)) : text;
  };
}

function fieldMember(field: DescField): WriteMember {
  switch (field.fieldKind) {
    case "list":
      return listMember(field);
    case "map":
      return mapMember(field);
    default:
      return field.presence === IMPLICIT ? implicitMember(field) : explicitMember(field);
  }
}

/** The value of a singular field, or one item of a list or map. */
function singularWriter(field: DescField): WriteValue {
  if (field.enum) return enumWriter(field.enum);
  if (!field.message) return scalarWriter(field.scalar);
  if (isPlainStruct(field)) return (value) => writePlainStruct(value as JsonObject);
  const wrapped = bareWrapperType(field);
  if (wrapped !== undefined) return scalarWriter(wrapped);
  const writer = messageWriter(field.message);
  return (value) => writer.write(value as Message);
}

function enumWriter(desc: DescEnum): WriteValue {
  if (desc.typeName === "google.protobuf.NullValue") return () => "null";
  const names = new Map<unknown, string>();
  for (const value of desc.values) if (!names.has(value.number)) names.set(value.number, quote(value.name));
  return (value) => names.get(value) ?? String(value);
}

/** A singular field without presence: left out at its zero value, unless REQUIRED. */
function implicitMember(field: DescField): WriteMember {
  const { localName } = field;
  const name = nameOf(field);
  const write = singularWriter(field);
  if (isRequired(field)) return (fields, text) => append(text, name, write(fields[localName]));
  const isZero = zeroTest(field);
  return (fields, text) => {
    const value = fields[localName];
    return isZero(value) ? text : append(text, name, write(value));
  };
}

function zeroTest(field: DescField): (value: unknown) => boolean {
  const { scalar } = field;
  if (scalar === undefined) return (value) => value === 0;
  if (scalar === ScalarType.STRING) return (value) => value === "";
  return (value) => isScalarZeroValue(scalar, value);
}

/** A singular field with presence: written when set. Unset and REQUIRED, a scalar or enum is written as zero. */
function explicitMember(field: DescField): WriteMember {
  const { localName } = field;
  const name = nameOf(field);
  const write = singularWriter(field);
  const zero = isRequired(field) ? zeroOf(field) : undefined;
  return (fields, text) => {
    const value = fields[localName];
    // Outside proto3 the default of an unset field sits on the prototype.
    if (value !== undefined && Object.hasOwn(fields, localName)) return append(text, name, write(value));
    return zero === undefined ? text : append(text, name, zero);
  };
}

function zeroOf(field: DescField): string | undefined {
  if (field.fieldKind === "scalar") return scalarZero(field.scalar);
  return field.fieldKind === "enum" ? enumWriter(field.enum)(field.enum.values[0]?.number) : undefined;
}

function listMember(field: DescField): WriteMember {
  const { localName } = field;
  const name = nameOf(field);
  const write = singularWriter(field);
  const required = isRequired(field);
  return (fields, text) => {
    const items = fields[localName] as readonly unknown[];
    if (items.length === 0) return required ? append(text, name, "[]") : text;
    return append(text, name, `[${joinValues(items, write)}]`);
  };
}

function mapMember(field: DescField): WriteMember {
  const { localName } = field;
  const name = nameOf(field);
  const write = singularWriter(field);
  const required = isRequired(field);
  return (fields, text) => {
    const entries = joinEntries(fields[localName] as Fields, write);
    return entries === "" && !required ? text : append(text, name, `{${entries}}`);
  };
}
