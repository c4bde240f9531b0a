import type { DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { isRequired } from "../../../protocol/json/descriptors.js";
import type { Capture, Route } from "../routes.js";
import { valueTextOf } from "../value-text.js";
import type { Schemas } from "./schemas.js";

/** A route's path as OpenAPI writes it, with the parameters in it. */
export interface DocumentedPath {
  readonly path: string;
  readonly parameters: readonly JsonObject[];
}

/** What decoding a segment refuses: no value at all, control characters, dot segments. */
const SEGMENT_VALUE = "^(?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f-\\u009f]+$";

/** Messages inside messages inside a query: as deep as a reader can want. */
const MAX_LEVELS = 3;

/** Each wildcard of a template becomes a parameter: `{taskId}`, or `{name.1}` and `{name.2}` where one variable has two. */
export function pathOf({ template, captures }: Route, schemas: Schemas): DocumentedPath {
  const parameters: JsonObject[] = [];
  const segments = template.segments.map((segment, index) => {
    if (segment.kind === "literal") return segment.text;
    const name = wildcardName(template.segments, captureAt(captures, index), index);
    parameters.push(pathParameter(name, captureAt(captures, index), segment.kind === "rest", schemas));
    return `{${name}}`;
  });
  const verb = template.verb === "" ? "" : `:${template.verb}`;
  return { path: `/${segments.join("/")}${verb}`, parameters };
}

function captureAt(captures: readonly Capture[], index: number): Capture {
  const found = captures.find(
    ({ start, end }) => start <= index && index < (end ?? Number.POSITIVE_INFINITY),
  );
  if (!found) throw new Error(`no variable covers segment ${index}`);
  return found;
}

function wildcardName(
  segments: Route["template"]["segments"],
  { path, start, end }: Capture,
  index: number,
): string {
  if (!path) return `segment${index + 1}`;
  const wildcards = segments.slice(start, end).filter(({ kind }) => kind !== "literal");
  if (wildcards.length === 1) return path.name;
  const before = segments.slice(start, index).filter(({ kind }) => kind !== "literal");
  return `${path.name}.${before.length + 1}`;
}

function pathParameter(
  name: string,
  { path, single }: Capture,
  isRest: boolean,
  schemas: Schemas,
): JsonObject {
  const whole = single && path;
  const { description, ...schema } = whole ? schemas.field(path.leaf) : { type: "string" };
  const isText = schema.type === "string" && schema.format === undefined && !isRest;
  return {
    name,
    in: "path",
    required: true,
    ...(description !== undefined && { description }),
    ...(isRest && { description: "May hold slashes, and may be empty." }),
    schema: isText ? { pattern: SEGMENT_VALUE, ...schema, minLength: 1 } : schema,
  };
}

/** The query parameters of a route: its leaf fields that neither path nor body hold. */
export function queryParametersOf({ method, captures, body }: Route, schemas: Schemas): JsonObject[] {
  if (body.kind === "message") return [];
  const bound = new Set(captures.map(({ path }) => path?.name));
  const inBody = body.kind === "field" ? body.field : undefined;
  return leavesOf(method.input, [], inBody)
    .filter(({ name }) => !bound.has(name))
    .map(({ name, field }) => queryParameter(name, field, schemas));
}

interface Leaf {
  readonly name: string;
  readonly field: DescField;
}

function leavesOf(desc: DescMessage, path: readonly string[], skipped: DescField | undefined): Leaf[] {
  return desc.fields.flatMap((field): Leaf[] => {
    if (field === skipped) return [];
    const steps = [...path, field.jsonName];
    if (valueTextOf(field)) return [{ name: steps.join("."), field }];
    const open = field.fieldKind === "message" && !hasCustomJsonRepresentation(field.message);
    return open && steps.length < MAX_LEVELS ? leavesOf(field.message, steps, undefined) : [];
  });
}

function queryParameter(name: string, field: DescField, schemas: Schemas): JsonObject {
  const { description, deprecated, ...schema } = schemas.field(field);
  return {
    name,
    in: "query",
    ...(description !== undefined && { description }),
    ...(deprecated !== undefined && { deprecated }),
    ...(isRequired(field) && !name.includes(".") && { required: true }),
    schema,
  };
}
