import assert from "node:assert/strict";
import {
  type DescField,
  type DescMessage,
  fromJson,
  getOption,
  type JsonObject,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.js";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Method of the service by its proto name. */
export function methodOf(name: string): (typeof A2AService.methods)[number] {
  const found = A2AService.methods.find((method) => method.name === name);
  assert.ok(found, `no method ${name}`);
  return found;
}

/** ProtoJSON as protobuf-es writes it: defaults left out, one spelling for each value. Unknown fields fail. */
export function canonicalJson(desc: DescMessage, json: JsonValue): JsonValue {
  return toJson(desc, fromJson(desc, json));
}

/**
 * Fails unless `json` is to the letter what a JSON wire must write for its content: set fields, and unset
 * REQUIRED scalars and lists, nothing else. Returns the canonical form.
 */
export function exactJson(desc: DescMessage, json: JsonValue): JsonValue {
  const message = fromJson(desc, json);
  const expected = isWellKnown(desc) ? toJson(desc, message) : requiredJson(desc, message);
  assert.deepEqual(json, expected, `${desc.name} is written in another form`);
  return toJson(desc, message);
}

function requiredJson(desc: DescMessage, message: Message): JsonObject {
  const view = reflect(desc, message);
  const plain = toJson(desc, message) as JsonObject;
  for (const field of desc.fields) {
    const value = fieldJson(view, field, plain[field.jsonName]);
    if (value !== undefined) plain[field.jsonName] = value;
  }
  return plain;
}

function fieldJson(
  view: ReflectMessage,
  field: DescField,
  plain: JsonValue | undefined,
): JsonValue | undefined {
  if (plain === undefined) return isRequired(field) ? emptyJson(field) : undefined;
  if (field.message === undefined || isWellKnown(field.message)) return plain;
  const desc = field.message;
  if (field.fieldKind === "message") return requiredJson(desc, view.get(field).message);
  const items =
    field.fieldKind === "list"
      ? [...view.get(field)]
      : [...view.get(field as typeof field & { fieldKind: "map" })];
  if (field.fieldKind === "list")
    return items.map((item) => requiredJson(desc, (item as ReflectMessage).message));
  const entries = items as [string, ReflectMessage][];
  return Object.fromEntries(entries.map(([key, item]) => [key, requiredJson(desc, item.message)]));
}

/** What an unset REQUIRED field is written as; a message or a oneof member stays away. */
function emptyJson(field: DescField): JsonValue | undefined {
  if (field.fieldKind === "list") return [];
  if (field.fieldKind === "map") return {};
  if (field.fieldKind === "enum") return field.enum.values[0]?.name;
  if (field.fieldKind !== "scalar") return undefined;
  if (field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES) return "";
  return field.scalar === ScalarType.BOOL ? false : 0;
}

function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

function isWellKnown(desc: DescMessage): boolean {
  return desc.typeName.startsWith("google.protobuf.");
}
