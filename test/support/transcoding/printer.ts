import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import type { Route } from "../../../src/bindings/rest/index.js";

/** A request that says the same as a decoded message, written by the rules of google.api.http and no code of ours. */
export interface Printed {
  readonly method: string;
  readonly target: string;
  readonly body: string | undefined;
}

/** Writes a message as a request for a route whose body is the whole message or nothing. */
export function printRequest(route: Route, message: Message): Printed {
  const { method, template, captures, body, httpMethod } = route;
  const json = toJson(method.input, message) as Record<string, JsonValue>;
  const segments: string[] = [];
  for (const [index, segment] of template.segments.entries()) {
    const capture = captures.find(({ start }) => start === index);
    if (capture?.path) segments.push(...printValue(textAt(json, capture.path.name), capture.single));
    else if (captures.some(({ path, start, end }) => path && start < index && index < (end ?? Infinity)))
      continue;
    else if (segment.kind === "literal") segments.push(segment.text);
    else if (segment.kind === "single") segments.push("x");
  }
  const verb = template.verb === "" ? "" : `:${template.verb}`;
  const path = `/${segments.join("/")}${verb}`;
  if (body.kind === "message") return { method: httpMethod, target: path, body: JSON.stringify(json) };
  const bound = new Set(captures.map((capture) => capture.path?.name));
  const query = [...parameters(method.input, json, [])].filter(([name]) => !bound.has(name));
  const text = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return { method: httpMethod, target: text === "" ? path : `${path}?${text}`, body: undefined };
}

/** The segments of a variable's value: no segment at all for the empty value of `**`. */
function printValue(text: string, single: boolean): string[] {
  if (single) return [encodeURIComponent(text)];
  return text === "" ? [] : text.split("/").map(encodeURIComponent);
}

function textAt(json: Record<string, JsonValue>, name: string): string {
  let value: JsonValue | undefined = json;
  for (const key of name.split(".")) value = (value as Record<string, JsonValue> | undefined)?.[key];
  return value === undefined ? "" : String(value);
}

function* parameters(
  desc: DescMessage,
  json: Record<string, JsonValue>,
  path: readonly string[],
): Generator<[name: string, value: string]> {
  for (const field of desc.fields) {
    const value = json[field.jsonName];
    if (value === undefined) continue;
    const steps = [...path, field.jsonName];
    if (isOpen(field)) yield* nested(field.message as DescMessage, value as Record<string, JsonValue>, steps);
    else for (const item of Array.isArray(value) ? value : [value]) yield [steps.join("."), String(item)];
  }
}

/** A message that is there without anything in it is said by the empty value of one of its texts. */
function* nested(
  desc: DescMessage,
  json: Record<string, JsonValue>,
  path: readonly string[],
): Generator<[name: string, value: string]> {
  yield* parameters(desc, json, path);
  const text = desc.fields.find(({ scalar, oneof }) => scalar === ScalarType.STRING && !oneof);
  if (text && Object.keys(json).length === 0) yield [[...path, text.jsonName].join("."), ""];
}

function isOpen(field: DescField): boolean {
  return field.fieldKind === "message" && !hasCustomJsonRepresentation(field.message);
}
