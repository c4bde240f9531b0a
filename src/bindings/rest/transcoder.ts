import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { A2AError } from "../../errors.js";
import { DEFAULT_DEPTH } from "../../protocol/depth.js";
import { decodeSegment, decodeSegments } from "./escapes.js";
import { type Failure, failure, invalid } from "./failure.js";
import { contradicts, place } from "./fields.js";
import { type Assignment, readQuery, readVersionOnly, splitQuery } from "./query.js";
import { type Decoded, type RequestBody, readRequestBody } from "./request-body.js";
import { createRouter, type Shape } from "./router.js";
import { type Capture, type Route, type RouteOptions, routesOf } from "./routes.js";

/** How requests are read. */
export interface TranscoderOptions extends RouteOptions {
  /** Refuse query parameters and body members that are no field, instead of ignoring them. Default false. */
  readonly strict?: boolean;
  /** Levels of objects and lists that a body may have. Default 100. */
  readonly maxDepth?: number | undefined;
  /** Longest request target. Default 16 KiB. */
  readonly maxTargetBytes?: number;
  /** Most parameters in a query. Default 1000. */
  readonly maxParameters?: number;
}

/** The part of a request that decides where it goes. */
interface RequestLine {
  readonly method: string;
  /** Raw request target, as it came over the wire. */
  readonly target: string;
}

/** A request that belongs to an RPC. */
export interface Match {
  readonly kind: "match";
  readonly method: DescMethod;
  readonly route: Route;
  /** `A2A-Version` of the query. */
  readonly queryVersion: string | undefined;
  /** The request message, from path, query and body; an absent body is an empty one. */
  decode(body?: RequestBody): Decoded;
}

/** An OPTIONS request to an address that is served. */
interface Options {
  readonly kind: "options";
  /** Value for the `Allow` header. */
  readonly allow: string;
}

/** HTTP requests as RPC requests, by the google.api.http annotations of some services. */
export interface Transcoder {
  readonly routes: readonly Route[];
  /** Annotations that work but are better avoided, for the log of the start. */
  readonly warnings: readonly string[];
  /** Never throws and does no I/O. The address is matched first, then the HTTP method, then the values. */
  match(request: RequestLine): Match | Options | Failure;
}

/** Shared: what is nobody's here may still be somebody else's, so this is no rare outcome. */
const NO_ROUTE = failure("no route", "NO_ROUTE");
const NO_BODY: RequestBody = { bytes: new Uint8Array() };

/**
 * Compiles the annotations of some services. Throws an Error naming RPC and template when one is not sound, or
 * when two RPCs would answer the same requests.
 */
export function createTranscoder(
  services: readonly DescService[],
  options: TranscoderOptions = {},
): Transcoder {
  const { maxTargetBytes = 16_384, maxParameters = 1000, maxDepth = DEFAULT_DEPTH, strict = false } = options;
  const routes = services.flatMap((service) => routesOf(service, options));
  const router = createRouter<Route>();
  for (const route of routes) addRoute(router.shape(route.template.segments, route.template.verb), route);

  function match({ method, target }: RequestLine): Match | Options | Failure {
    if (target.length > maxTargetBytes) return failure("target too long", "TARGET_TOO_LONG");
    const mark = target.indexOf("?");
    const path = mark < 0 ? target : target.slice(0, mark);
    if (!path.startsWith("/")) return NO_ROUTE;
    const segments = path.slice(1).split("/");
    const shape = router.find(segments);
    if (!shape) return NO_ROUTE;
    const route = routeFor(shape, method);
    if (!route) return withoutRoute(shape, method);
    const pieces = splitQuery(mark < 0 ? "" : target.slice(mark + 1), maxParameters);
    return "kind" in pieces ? pieces : bind({ route, segments, pieces, strict, maxDepth });
  }

  return { routes, warnings: routes.flatMap(warningsOf), match };
}

function addRoute(shape: Shape<Route>, route: Route): void {
  const other = shape.methods.get(route.httpMethod);
  if (other) {
    throw new Error(
      `${other.rpc}, template "${other.template.text}", and ${route.rpc}, template "${route.template.text}": ` +
        `both answer ${route.httpMethod} at the same address`,
    );
  }
  shape.methods.set(route.httpMethod, route);
}

function warningsOf({ rpc, template, httpMethod, body }: Route): string[] {
  if (body.kind === "none" || !["GET", "HEAD", "DELETE"].includes(httpMethod)) return [];
  return [`${rpc}, template "${template.text}": many clients send no body with ${httpMethod}`];
}

function routeFor({ methods }: Shape<Route>, method: string): Route | undefined {
  const own = methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined);
  return own ?? (method === "OPTIONS" ? undefined : methods.get("*"));
}

function withoutRoute(shape: Shape<Route>, method: string): Options | Failure {
  const allow = allowOf(shape);
  if (method === "OPTIONS") return { kind: "options", allow };
  const error = new A2AError("METHOD_NOT_ALLOWED", { headers: { allow } });
  return { kind: "failure", problem: "method not allowed", error };
}

const USUAL_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

function allowOf({ methods }: Shape<Route>): string {
  const served = new Set(methods.has("*") ? USUAL_METHODS : methods.keys());
  if (served.has("GET")) served.add("HEAD");
  served.delete("OPTIONS");
  const usual = USUAL_METHODS.filter((method) => served.delete(method));
  return [...usual, ...[...served].sort(), "OPTIONS"].join(", ");
}

interface Candidate {
  readonly route: Route;
  readonly segments: readonly string[];
  readonly pieces: readonly string[];
  readonly strict: boolean;
  readonly maxDepth: number;
}

function bind({ route, segments, pieces, strict, maxDepth }: Candidate): Match | Failure {
  const bound = bindPath(route, segments);
  if ("kind" in bound) return bound;
  const { method, body } = route;
  const bodyField = body.kind === "field" ? body.field : undefined;
  const query =
    body.kind === "message"
      ? readVersionOnly(pieces)
      : readQuery(pieces, { input: method.input, bound, bodyField, strict });
  if (query.kind === "failure") return query;
  const decode = (sent: RequestBody = NO_BODY): Decoded => {
    const decoded = readRequestBody(route, sent, { strict, maxDepth });
    if (decoded.kind === "failure") return decoded;
    const { message } = decoded;
    return placeBound(message, bound) ?? placeQuery(message, query.assignments) ?? decoded;
  };
  return { kind: "match", method, route, queryVersion: query.version, decode };
}

function bindPath(route: Route, segments: readonly string[]): readonly Assignment[] | Failure {
  const assignments: Assignment[] = [];
  const { verb } = route.template;
  const path = verb === "" ? segments : withoutVerb(segments, verb);
  for (const capture of route.captures) {
    const text = textOf(capture, path);
    if (text === undefined) return badPath(capture);
    if (!capture.path) continue;
    const value = capture.path.text.parse(text);
    if (value === undefined)
      return invalid("bad path", capture.path.name, `expected ${capture.path.text.expected}`);
    assignments.push({ path: capture.path, value });
  }
  return assignments;
}

function withoutVerb(segments: readonly string[], verb: string): readonly string[] {
  const last = segments[segments.length - 1] as string;
  return [...segments.slice(0, -1), last.slice(0, -verb.length - 1)];
}

function textOf({ start, end, single }: Capture, path: readonly string[]): string | undefined {
  return single ? decodeSegment(path[start] as string) : decodeSegments(path.slice(start, end));
}

function badPath({ path }: Capture): Failure {
  return invalid(
    "bad path",
    path?.name,
    "the path is not percent-encoded UTF-8, or holds a control character or a dot segment",
  );
}

function placeBound(message: Message, bound: readonly Assignment[]): Failure | undefined {
  for (const { path, value } of bound) {
    if (contradicts(message, path, value) || !place(message, path, value)) {
      return invalid("binding conflict", path.name, "the body differs from the path");
    }
  }
  return undefined;
}

function placeQuery(message: Message, assignments: readonly Assignment[]): Failure | undefined {
  for (const { path, value } of assignments) {
    if (!place(message, path, value)) {
      return invalid("bad query", path.name, "another member of its oneof is set");
    }
  }
  return undefined;
}
