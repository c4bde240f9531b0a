import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonObject,
  ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { isRequired } from "../../../protocol/json/descriptors.js";
import { PartSchema } from "../../../protocol/schema.js";
import { isHttpBody } from "../routes.js";
import { type Constraints, fullNameOf } from "./constraints.js";
import { type Comments, describe } from "./describe.js";

/** JSON Schemas of messages and enums, as ProtoJSON writes them. */
export interface Schemas {
  /** A reference to the schema of a message, which becomes a component; the schema itself for well-known types. */
  message(desc: DescMessage): JsonObject;
  /** The schema of a field, with its description. */
  field(field: DescField): JsonObject;
  /** The schema of one value of a field: of an item, when it is a list. */
  item(field: DescField): JsonObject;
  /** A message without some of its fields, by JSON name: they are said elsewhere. */
  without(desc: DescMessage, fields: ReadonlySet<string>): JsonObject;
  /** Every message and enum that was referred to, by component name. */
  components(): JsonObject;
}

/** What ProtoJSON writes in a form of its own (protobuf.dev, "ProtoJSON format"). */
const WELL_KNOWN = new Map<string, JsonObject>([
  ["google.protobuf.Timestamp", { type: "string", format: "date-time" }],
  ["google.protobuf.Duration", { type: "string", pattern: "^-?[0-9]{1,12}(\\.[0-9]{1,9})?s$" }],
  ["google.protobuf.FieldMask", { type: "string" }],
  ["google.protobuf.Struct", { type: "object", additionalProperties: true }],
  ["google.protobuf.Value", {}],
  ["google.protobuf.ListValue", { type: "array", items: {} }],
  ["google.protobuf.Empty", { type: "object" }],
  [
    "google.protobuf.Any",
    {
      type: "object",
      properties: { "@type": { type: "string" } },
      required: ["@type"],
      additionalProperties: true,
    },
  ],
]);

/** What schemas are made from. */
export interface SchemaOptions {
  /** Component names are proto names without this package. */
  readonly packageName: string;
  readonly comments: Comments;
  readonly constraints: Constraints;
  /** What callers send: in these messages, and in those inside them, REQUIRED fields must not be empty. */
  readonly requests: readonly DescMessage[];
}

/** Makes the schemas of a document. */
export function createSchemas({ packageName, comments, constraints, requests }: SchemaOptions): Schemas {
  const made = new Map<string, JsonObject>();
  const sent = reachable(requests);

  function refer(desc: DescMessage | DescEnum, make: () => JsonObject): JsonObject {
    const prefix = `${packageName}.`;
    const name = desc.typeName.startsWith(prefix) ? desc.typeName.slice(prefix.length) : desc.typeName;
    if (!made.has(name)) {
      made.set(name, {}); // holds the place, for messages that contain themselves
      made.set(name, make());
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  function message(desc: DescMessage): JsonObject {
    if (isWrapperDesc(desc)) return nullable(scalarSchema(desc.fields[0].scalar));
    const known = WELL_KNOWN.get(desc.typeName) ?? (isHttpBody(desc) ? {} : undefined);
    return (
      known ??
      refer(desc, () => ({ ...describe(comments, desc.typeName), ...objectSchema(desc, desc.fields) }))
    );
  }

  function objectSchema(desc: DescMessage, fields: readonly DescField[]): JsonObject {
    const required = fields.filter(isRequired).map(({ jsonName }) => jsonName);
    const choices = desc.oneofs.map((oneof) => choiceOf(oneof, fields));
    return {
      type: "object",
      properties: Object.fromEntries(fields.map((found) => [found.jsonName, field(found)])),
      ...(required.length > 0 && { required }),
      ...(choices.length === 1 && choices[0]),
      ...(choices.length > 1 && { allOf: choices }),
    };
  }

  function field(found: DescField): JsonObject {
    const about = {
      ...(sent.has(found.parent) && isRequired(found) && notEmpty(found)),
      ...constraints.get(fullNameOf(found)),
      ...describe(comments, fullNameOf(found)),
      ...deprecation(found),
    };
    if (found.fieldKind === "list") return { type: "array", items: item(found), ...about };
    if (found.fieldKind === "map") return { type: "object", additionalProperties: item(found), ...about };
    return { ...item(found), ...about };
  }

  function item(found: DescField): JsonObject {
    if (found.message) return message(found.message);
    const { enum: desc } = found;
    if (desc) return desc.typeName === "google.protobuf.NullValue" ? { type: "null" } : enumSchema(desc);
    return scalarSchema(found.scalar as ScalarType);
  }

  function enumSchema(desc: DescEnum): JsonObject {
    return refer(desc, () => {
      const about = comments.get(desc.typeName) ?? "";
      const values = desc.values.flatMap(({ name }) => {
        const text = comments.get(`${desc.typeName}.${name}`);
        return text === undefined ? [] : [`- \`${name}\`: ${text.replaceAll("\n\n", " ")}`];
      });
      const description = [about, values.join("\n")].filter((text) => text !== "").join("\n\n");
      const names = desc.values.map(({ name }) => name);
      return { type: "string", enum: names, ...(description !== "" && { description }) };
    });
  }

  return {
    message,
    field,
    item,
    without: (desc, fields) =>
      objectSchema(
        desc,
        desc.fields.filter(({ jsonName }) => !fields.has(jsonName)),
      ),
    components: () => Object.fromEntries([...made].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function deprecation(field: DescField): JsonObject {
  return field.deprecated ? { deprecated: true } : {};
}

/** These messages and those inside them. */
function reachable(messages: readonly DescMessage[]): ReadonlySet<DescMessage> {
  const found = new Set(messages);
  for (const desc of found) {
    for (const { message: inner } of desc.fields) if (inner) found.add(inner);
  }
  return found;
}

/** What keeps the value of a REQUIRED field from counting as missing. */
function notEmpty(field: DescField): JsonObject {
  if (field.fieldKind === "list") return { minItems: 1 };
  if (field.fieldKind === "map") return { minProperties: 1 };
  if (field.enum) return { not: { const: String(field.enum.values[0]?.name) } };
  const hasLength = field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES;
  return hasLength ? { minLength: 1 } : {};
}

/** None of a oneof's members, or exactly one. A part must have content (specification 4.1.6), which the contract cannot say. */
function choiceOf(oneof: DescOneof, fields: readonly DescField[]): JsonObject {
  const present = oneof.fields
    .filter((field) => fields.includes(field))
    .map(({ jsonName }) => ({ required: [jsonName] }));
  if (present.length === 0) return {};
  if (oneof.parent.typeName === PartSchema.typeName) return { oneOf: present };
  return { oneOf: [...present, { not: { anyOf: present } }] };
}

function nullable(schema: JsonObject): JsonObject {
  return { anyOf: [schema, { type: "null" }] };
}

function scalarSchema(type: ScalarType): JsonObject {
  switch (type) {
    case ScalarType.STRING:
      return { type: "string" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return {
        anyOf: [
          { type: "number", format: type === ScalarType.DOUBLE ? "double" : "float" },
          { type: "string", enum: ["NaN", "Infinity", "-Infinity"] },
        ],
      };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: "integer", format: "int32", minimum: -2147483648, maximum: 2147483647 };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", format: "uint32", minimum: 0, maximum: 4294967295 };
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: "string", format: "int64", pattern: "^-?[0-9]{1,19}$" };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "string", format: "uint64", pattern: "^[0-9]{1,20}$" };
  }
}
