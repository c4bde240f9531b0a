import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  getOption,
  hasOption,
} from "@bufbuild/protobuf";
import { type HttpRule, http } from "../../protocol/schema.js";
import { byProtoName, type FieldPath, resolveField } from "./fields.js";
import { parseTemplate, type Template } from "./template.js";

/** Where the body of a request goes. `none`: it is not read. */
type BodyRule =
  | { readonly kind: "none" }
  | { readonly kind: "message" }
  | { readonly kind: "field"; readonly field: DescField };

/** Segments of a path that matched a wildcard. */
export interface Capture {
  readonly start: number;
  /** Index after the last segment; undefined: to the end of the path. */
  readonly end: number | undefined;
  readonly single: boolean;
  /** Field that takes the value; undefined for a wildcard outside of a variable. */
  readonly path: FieldPath | undefined;
}

/** One HTTP rule of one RPC, checked. */
export interface Route {
  readonly method: DescMethod;
  /** `package.Service.Method`. */
  readonly rpc: string;
  /** HTTP method; `*` for all that have no route of their own. */
  readonly httpMethod: string;
  readonly template: Template;
  readonly captures: readonly Capture[];
  readonly body: BodyRule;
  /** Field that alone is the response; undefined: the whole message. */
  readonly responseField: DescField | undefined;
}

/** What to do with an RPC that has no HTTP rule. */
export interface RouteOptions {
  /** True: it answers `POST /package.Service/Method` with the message as body. Default false: REST does not serve it. */
  readonly serveUnannotated?: boolean;
}

/** True for the type that stands for bytes of any media type. */
export function isHttpBody(desc: DescMessage | undefined): boolean {
  return desc?.typeName === "google.api.HttpBody";
}

/** The routes of a service. Throws an Error naming RPC and template when an annotation is not sound. */
export function routesOf(service: DescService, options: RouteOptions = {}): Route[] {
  return service.methods.flatMap((method) => {
    const streamsIn = method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming";
    const patterns = patternsOf(method, options.serveUnannotated === true && !streamsIn);
    return patterns.map((pattern) => {
      if (streamsIn) refuse(pattern, "a stream of requests has no HTTP form");
      return createRoute(pattern);
    });
  });
}

interface Pattern {
  readonly method: DescMethod;
  readonly httpMethod: string;
  readonly template: string;
  readonly body: string;
  readonly responseBody: string;
}

function patternsOf(method: DescMethod, serveUnannotated: boolean): Pattern[] {
  if (hasOption(method, http)) {
    const rule = getOption(method, http);
    return [
      patternOf(method, rule),
      ...rule.additionalBindings.map((extra) => additionalPattern(method, extra)),
    ];
  }
  if (!serveUnannotated) return [];
  const template = `/${method.parent.typeName}/${method.name}`;
  return [{ method, httpMethod: "POST", template, body: "*", responseBody: "" }];
}

function additionalPattern(method: DescMethod, rule: HttpRule): Pattern {
  const pattern = patternOf(method, rule);
  if (rule.additionalBindings.length > 0) refuse(pattern, "additional_bindings inside an additional binding");
  return pattern;
}

const TOKEN = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;

function patternOf(method: DescMethod, rule: HttpRule): Pattern {
  const { body, responseBody, pattern } = rule;
  if (pattern.case === undefined) {
    return refuse({ method, template: "" }, "the rule has no pattern");
  }
  if (pattern.case !== "custom") {
    return { method, httpMethod: pattern.case.toUpperCase(), template: pattern.value, body, responseBody };
  }
  const { kind, path } = pattern.value;
  if (!TOKEN.test(kind)) refuse({ method, template: path }, `"${kind}" is not an HTTP method`);
  return { method, httpMethod: kind, template: path, body, responseBody };
}

function createRoute(pattern: Pattern): Route {
  const { method, httpMethod } = pattern;
  const template = readTemplate(pattern);
  const body = bodyRuleOf(pattern);
  const captures = capturesOf(pattern, template, body);
  const route = { method, rpc: rpcOf(method), httpMethod, template, captures, body };
  return { ...route, responseField: responseFieldOf(pattern) };
}

function readTemplate(pattern: Pattern): Template {
  try {
    return parseTemplate(pattern.template);
  } catch (thrown) {
    return refuse(pattern, (thrown as Error).message);
  }
}

function bodyRuleOf(pattern: Pattern): BodyRule {
  if (pattern.body === "") return { kind: "none" };
  if (pattern.body === "*") return { kind: "message" };
  const field = byProtoName(pattern.method.input, pattern.body);
  return field
    ? { kind: "field", field }
    : refuse(pattern, missing("body", pattern.body, pattern.method.input));
}

function responseFieldOf(pattern: Pattern): DescField | undefined {
  const { output, methodKind } = pattern.method;
  const name = pattern.responseBody;
  const field = name === "" ? undefined : byProtoName(output, name);
  if (name !== "" && !field) refuse(pattern, missing("response_body", name, output));
  if (methodKind === "server_streaming" && isHttpBody(field ? field.message : output)) {
    refuse(pattern, "a stream of google.api.HttpBody has no event form");
  }
  return field;
}

function missing(option: string, name: string, desc: DescMessage): string {
  return `${option} names "${name}", which is no field of ${desc.typeName}`;
}

function capturesOf(pattern: Pattern, template: Template, body: BodyRule): Capture[] {
  const variables = template.variables.map(({ name, start, end, single }) => {
    return { start, end, single, path: pathOf(pattern, name, body) };
  });
  refuseSharedOneof(pattern, variables);
  const named = (index: number) =>
    variables.some(({ start, end }) => index >= start && index < (end ?? Number.POSITIVE_INFINITY));
  const anonymous = template.segments.flatMap(({ kind }, index): Capture[] => {
    if (kind === "literal" || named(index)) return [];
    const single = kind === "single";
    return [{ start: index, end: single ? index + 1 : undefined, single, path: undefined }];
  });
  return [...variables, ...anonymous];
}

function pathOf(pattern: Pattern, name: string, body: BodyRule): FieldPath {
  const { input } = pattern.method;
  const resolved = resolveField(input, name, byProtoName);
  if (resolved.kind === "unknown") {
    return refuse(pattern, `the variable "${name}" is no field of ${input.typeName}`);
  }
  if (resolved.kind === "fault") return refuse(pattern, `the variable "${name}": ${resolved.problem}`);
  const { path } = resolved;
  if (path.leaf.fieldKind === "list")
    return refuse(pattern, `the variable "${name}": a list is not one value`);
  if (body.kind === "field" && path.leaf === body.field && path.parents.length === 0) {
    return refuse(pattern, `the variable "${name}" is the field that body names`);
  }
  return path;
}

/** Two members of one oneof can never both be set, so such a template could never match. */
function refuseSharedOneof(pattern: Pattern, captures: readonly Capture[]): void {
  const taken = new Map<string, string>();
  for (const path of captures.flatMap((capture) => capture.path ?? [])) {
    const steps = [...path.parents, path.leaf];
    for (const [level, field] of steps.entries()) {
      if (!field.oneof) continue;
      const place = [...steps.slice(0, level), field.oneof].map((step) => step.name).join(".");
      const other = taken.get(place) ?? field.name;
      if (other !== field.name) refuse(pattern, `the variables "${other}" and "${field.name}" share a oneof`);
      taken.set(place, field.name);
    }
  }
}

/** `package.Service.Method`. */
function rpcOf(method: DescMethod): string {
  return `${method.parent.typeName}.${method.name}`;
}

function refuse(pattern: Pick<Pattern, "method" | "template">, problem: string): never {
  throw new Error(`${rpcOf(pattern.method)}, template "${pattern.template}": ${problem}`);
}
