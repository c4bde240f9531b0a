import assert from "node:assert/strict";
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { loadSync, type MethodDefinition } from "@grpc/proto-loader";

type LoaderMethod = MethodDefinition<object, object>;
type Plain = Record<string, unknown>;

/** The service as proto-loader reads it from the proto files: shares nothing with the generated code. */
const LOADED = loadSync("lf/a2a/v1/a2a.proto", {
  includeDirs: ["proto", "node_modules/google-proto-files"],
  longs: String,
  enums: String,
  bytes: String,
});

/** proto-loader's definition of a method. */
export function loaderMethod(name: string): LoaderMethod {
  const service = LOADED["lf.a2a.v1.A2AService"] as Record<string, LoaderMethod>;
  const method = service[name];
  assert.ok(method, `proto-loader finds no method ${name}`);
  return method;
}

/** ProtoJSON → the objects that proto-loader serializes. Fails on what protobuf cannot say. */
export function toLoader(desc: DescMessage, json: JsonValue): object {
  assert.ok(json !== null && typeof json === "object" && !Array.isArray(json), `${desc.name} is an object`);
  const out: Plain = {};
  for (const [name, value] of Object.entries(json)) {
    const field = desc.fields.find((each) => each.jsonName === name || each.name === name);
    assert.ok(field, `${desc.name} has no field ${name}`);
    out[field.jsonName] = mapField(field, value, toLoaderItem);
  }
  return out;
}

/** What proto-loader deserialized → ProtoJSON. */
export function fromLoader(desc: DescMessage, loaded: object): JsonObject {
  const out: JsonObject = {};
  for (const field of desc.fields) {
    const value = (loaded as Plain)[field.jsonName];
    if (value !== undefined && value !== null) {
      out[field.jsonName] = mapField(field, value, fromLoaderItem) as JsonValue;
    }
  }
  return out;
}

function mapField(
  field: DescField,
  value: unknown,
  item: (field: DescField, value: unknown) => unknown,
): unknown {
  if (field.fieldKind === "list") return (value as unknown[]).map((each) => item(field, each));
  if (field.fieldKind !== "map") return item(field, value);
  return Object.fromEntries(Object.entries(value as Plain).map(([key, each]) => [key, item(field, each)]));
}

function toLoaderItem(field: DescField, value: unknown): unknown {
  const json = value as JsonValue;
  if (field.enum && typeof json === "string") {
    assert.ok(
      field.enum.values.some((each) => each.name === json),
      `${field.name} has no value ${json}`,
    );
  }
  switch (field.message?.typeName) {
    case undefined:
      return json;
    case "google.protobuf.Struct":
      return toStruct(json as JsonObject);
    case "google.protobuf.Value":
      return toValue(json);
    case "google.protobuf.Timestamp":
      return toTimestamp(json as string);
    default:
      return toLoader(field.message as DescMessage, json);
  }
}

function fromLoaderItem(field: DescField, value: unknown): unknown {
  switch (field.message?.typeName) {
    case undefined:
      return value;
    case "google.protobuf.Struct":
      return fromStruct(value as Plain);
    case "google.protobuf.Value":
      return fromValue(value as Plain);
    case "google.protobuf.Timestamp":
      return fromTimestamp(value as Plain);
    default:
      return fromLoader(field.message as DescMessage, value as object);
  }
}

function toStruct(json: JsonObject): Plain {
  return { fields: Object.fromEntries(Object.entries(json).map(([key, value]) => [key, toValue(value)])) };
}

function toValue(json: JsonValue): Plain {
  if (json === null) return { nullValue: "NULL_VALUE" };
  if (Array.isArray(json)) return { listValue: { values: json.map(toValue) } };
  switch (typeof json) {
    case "string":
      return { stringValue: json };
    case "number":
      return { numberValue: json };
    case "boolean":
      return { boolValue: json };
    default:
      return { structValue: toStruct(json) };
  }
}

function fromStruct(loaded: Plain): JsonObject {
  const fields = Object.entries((loaded.fields ?? {}) as Record<string, Plain>);
  return Object.fromEntries(fields.map(([key, value]) => [key, fromValue(value)]));
}

function fromValue(loaded: Plain): JsonValue {
  if (loaded.listValue) return (((loaded.listValue as Plain).values ?? []) as Plain[]).map(fromValue);
  if (loaded.structValue) return fromStruct(loaded.structValue as Plain);
  if (loaded.nullValue !== undefined) return null;
  return (loaded.stringValue ?? loaded.numberValue ?? loaded.boolValue) as JsonValue;
}

function toTimestamp(text: string): Plain {
  const [, whole = "", fraction = ""] = /^(.*?)(?:\.(\d+))?Z$/.exec(text) ?? [];
  const seconds = Date.parse(`${whole}Z`) / 1000;
  assert.ok(Number.isInteger(seconds), `no timestamp: ${text}`);
  return { seconds: String(seconds), nanos: Number(fraction.padEnd(9, "0")) };
}

function fromTimestamp({ seconds = "0", nanos = 0 }: Plain): string {
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  const fraction = String(nanos).padStart(9, "0");
  return `${whole}.${fraction}Z`;
}
