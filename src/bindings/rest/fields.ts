import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  equals,
  isFieldSet,
  type Message,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { type ValueText, valueTextOf } from "./value-text.js";

/** A field that a path or a query can address, compiled from its descriptor. */
export interface FieldPath {
  /** JSON names joined by dots: how errors name it, and its identity. */
  readonly name: string;
  /** The message fields that lead to it. */
  readonly parents: readonly DescField[];
  readonly leaf: DescField;
  readonly text: ValueText;
}

/** What a name addresses. `unknown`: no such field. `fault`: there is one, but it cannot be addressed so. */
export type Resolved =
  | { readonly kind: "field"; readonly path: FieldPath }
  | { readonly kind: "unknown" }
  | { readonly kind: "fault"; readonly name: string; readonly problem: string };

/** How a field is found in its message by the name it has in a path or a query. */
export type FindField = (desc: DescMessage, name: string) => DescField | undefined;

/** Levels that a name may have, as many as a body may have. */
const MAX_LEVELS = 100;

const namesByMessage = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** By JSON name, and by proto name where that is no other field's JSON name. */
export function byEitherName(desc: DescMessage, name: string): DescField | undefined {
  const known = namesByMessage.get(desc);
  if (known) return known.get(name);
  const names = new Map([
    ...desc.fields.map((field) => [field.name, field] as const),
    ...desc.fields.map((field) => [field.jsonName, field] as const),
  ]);
  namesByMessage.set(desc, names);
  return names.get(name);
}

/** By proto name, as annotations write it. */
export function byProtoName(desc: DescMessage, name: string): DescField | undefined {
  return desc.fields.find((field) => field.name === name);
}

/** What a dotted name addresses in a message. */
export function resolveField(desc: DescMessage, dotted: string, find: FindField): Resolved {
  const names = dotted.split(".", MAX_LEVELS + 1);
  if (names.length > MAX_LEVELS)
    return { kind: "fault", name: names[0] as string, problem: "nested too deeply" };
  const parents: DescField[] = [];
  let message = desc;
  for (const name of names.slice(0, -1)) {
    const field = find(message, name);
    if (!field) return { kind: "unknown" };
    const problem = whyNotEntered(field);
    if (problem !== undefined) return { kind: "fault", name: pathName([...parents, field]), problem };
    parents.push(field);
    message = field.message as DescMessage;
  }
  const leaf = find(message, names[names.length - 1] as string);
  return leaf ? resolveLeaf(parents, leaf) : { kind: "unknown" };
}

function whyNotEntered(field: DescField): string | undefined {
  if (field.fieldKind === "map") return "a map has no place in an address";
  if (field.fieldKind === "list") return "an item of a list has no name";
  const open = field.fieldKind === "message" && !hasCustomJsonRepresentation(field.message);
  return open ? undefined : "the field has no fields of its own";
}

function resolveLeaf(parents: readonly DescField[], leaf: DescField): Resolved {
  const name = pathName([...parents, leaf]);
  const text = valueTextOf(leaf);
  if (text) return { kind: "field", path: { name, parents, leaf, text } };
  const problem =
    leaf.fieldKind === "map" ? "a map has no place in an address" : "a message has no text form";
  return { kind: "fault", name, problem };
}

function pathName(fields: readonly DescField[]): string {
  return fields.map((field) => field.jsonName).join(".");
}

/**
 * Puts a value into a message, making the messages on the way; a value for a list is added to it. False where a
 * oneof on the way already holds another member: nothing is changed then.
 */
export function place(message: Message, path: FieldPath, value: unknown): boolean {
  const owner = ownerOf(message, path);
  if (!owner || !isVacant(owner, path.leaf)) return false;
  if (path.leaf.fieldKind === "list") (heldIn(owner, path.leaf) as unknown[]).push(value);
  else setValue(owner, path.leaf, value);
  return true;
}

/** True when the message holds another value there than this one. Empty is not another value. */
export function contradicts(message: Message, path: FieldPath, value: unknown): boolean {
  let owner: Message | undefined = message;
  for (const parent of path.parents) owner = owner && (heldIn(owner, parent) as Message | undefined);
  if (!owner || !isFieldSet(owner, path.leaf)) return false;
  const held = heldIn(owner, path.leaf);
  return !isEmpty(held) && !sameValue(path.leaf, held, value);
}

/** True when two values of a field are the same. */
export function sameValue(field: DescField, a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  if (field.message && isMessageValue(a) && isMessageValue(b)) return equals(field.message, a, b);
  return Object.is(a, b) || a === b;
}

/** Sets a field, replacing another member of its oneof. */
export function setValue(message: Message, field: DescField, value: unknown): void {
  const properties = propertiesOf(message);
  if (field.oneof) properties[field.oneof.localName] = { case: field.localName, value };
  else properties[field.localName] = value;
}

function ownerOf(message: Message, path: FieldPath): Message | undefined {
  let owner = message;
  for (const parent of path.parents) {
    if (!isVacant(owner, parent)) return undefined;
    const held = heldIn(owner, parent) as Message | undefined;
    const next = held ?? create(parent.message as DescMessage);
    if (!held) setValue(owner, parent, next);
    owner = next;
  }
  return owner;
}

/** True unless another member of the field's oneof is set. */
function isVacant(message: Message, field: DescField): boolean {
  const chosen = field.oneof && chosenOf(message, field.oneof).case;
  return chosen === undefined || chosen === field.localName;
}

/** The value of a field as its message keeps it; undefined where another member of its oneof is set. */
export function heldIn(message: Message, field: DescField): unknown {
  if (!field.oneof) return propertiesOf(message)[field.localName];
  const chosen = chosenOf(message, field.oneof);
  return chosen.case === field.localName ? chosen.value : undefined;
}

function chosenOf(message: Message, oneof: DescOneof): { readonly case?: string; readonly value?: unknown } {
  return propertiesOf(message)[oneof.localName] as { readonly case?: string; readonly value?: unknown };
}

/** Messages are plain objects with the properties that their descriptor names. */
function propertiesOf(message: Message): Record<string, unknown> {
  return message as unknown as Record<string, unknown>;
}

function isMessageValue(value: unknown): value is Message {
  return typeof value === "object" && value !== null && "$typeName" in value;
}

function isEmpty(value: unknown): boolean {
  return value === "" || (value instanceof Uint8Array && value.length === 0);
}
