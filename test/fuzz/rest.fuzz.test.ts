import { type DescMessage, equals, type Message, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { createTranscoder, type Match, type Route, type Transcoder } from "../../src/bindings/rest/index.js";
import { createRouter } from "../../src/bindings/rest/router.js";
import { parseTemplate } from "../../src/bindings/rest/template.js";
import { A2AError } from "../../src/errors.js";
import { A2AService } from "../../src/protocol/schema.js";
import { testService } from "../support/test-protos.js";
import { printRequest } from "../support/transcoding/printer.js";
import { fuzz } from "./support.js";

const a2a = createTranscoder([A2AService]);
const synthetic = createTranscoder([testService("SyntheticService")]);
const rules = createTranscoder([testService("RulesService")], { serveUnannotated: true });

/** For `equals` NaN differs from itself. */
function sameMessage(desc: DescMessage, one: Message, other: Message): boolean {
  return equals(desc, one, other) || Buffer.compare(toBinary(desc, one), toBinary(desc, other)) === 0;
}

const LITERALS = [
  "tasks",
  "message:send",
  "message:stream",
  "extendedAgentCard",
  "pushNotificationConfigs",
  "v1",
  "projects",
  "files",
  "one",
  "fixed",
  "two",
  "a",
  "lib",
  "q",
  "kinds",
  "i32",
  "bool",
  "enum",
  "time",
  "books",
  "raw",
  "any",
];
const SUFFIXES = [
  ":cancel",
  ":subscribe",
  ":stat",
  ":check",
  ":",
  "%3Acancel",
  "%3asubscribe",
  "%2F",
  "%2f",
  "%252F",
];
const PIECES = [
  "%",
  "%4",
  "%zz",
  "%ff",
  "%00",
  "%C3%A9",
  "\u00c3\u00a9",
  "\u00e9",
  "%2e",
  ".",
  "..",
  "+",
  "%2B",
  "*",
  "**",
  ";",
  "@",
];
const KEYS = [
  "tenant",
  "id",
  "pageSize",
  "page_size",
  "contextId",
  "context_id",
  "status",
  "after",
  "dur",
  "mask",
  "wb",
  "wi",
  "ws",
  "raw",
  "big",
  "u",
  "d",
  "flag",
  "tags",
  "many",
  "nums",
  "in",
  "in.leafName",
  "in.child.leafName",
  "in.n.z",
  "ins",
  "labels",
  "a",
  "b",
  "renamed",
  "customName",
  "i32",
  "oneDeep.left",
  "oneString",
  "deep.deep.name",
  "time",
  "textI64",
  "f32",
  "f64s",
  "A2A-Version",
  "__proto__",
  "__proto__.x",
  "constructor.prototype",
  "",
  ".",
  "x.y",
];
const VALUES = [
  "1",
  "0",
  "-1",
  "2147483648",
  "9007199254740993",
  "true",
  "S_WORKING",
  "TASK_STATE_WORKING",
  "1,2",
  "1.5",
  "NaN",
  "1e400",
  "2026-01-02T03:04:05Z",
  "1.5s",
  "contextId,pageSize",
  "-_8",
  "aGk=",
  "%20",
  "",
  "x",
  "a+b",
  "%zz",
  "%F0%9F%98%80",
];

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...LITERALS) },
  { weight: 1, arbitrary: fc.constantFrom(...PIECES) },
  { weight: 2, arbitrary: fc.string({ maxLength: 8 }).map(encodeURIComponent) },
  { weight: 1, arbitrary: fc.string({ unit: "binary-ascii", maxLength: 6 }) },
);
const segment = fc
  .tuple(text, fc.oneof({ weight: 3, arbitrary: fc.constant("") }, fc.constantFrom(...SUFFIXES, ...PIECES)))
  .map((parts) => parts.join(""));
const path = fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => `/${segments.join("/")}`);
const pair = fc
  .tuple(fc.oneof(fc.constantFrom(...KEYS), text), fc.oneof(fc.constantFrom(...VALUES), text))
  .map(([key, value]) => `${key}=${value}`);
const query = fc.oneof(
  fc.constant(""),
  fc.array(pair, { maxLength: 5 }).map((pairs) => `?${pairs.join("&")}`),
);
const method = fc.constantFrom(
  "GET",
  "POST",
  "GET",
  "POST",
  "DELETE",
  "PUT",
  "PATCH",
  "HEAD",
  "OPTIONS",
  "LINK",
  "x",
);
const line = fc.record({ method, target: fc.tuple(path, query).map((parts) => parts.join("")) });
const transcoders = { a2a, synthetic, rules };
const service = fc.constantFrom("a2a" as const, "synthetic" as const, "rules" as const);
/** What may be the value of a variable of one segment. */
const value = fc
  .string({ minLength: 1, maxLength: 12, unit: "grapheme" })
  .filter((text) => text !== "." && text !== ".." && text !== "tasks" && !/\p{Cc}/u.test(text));

/** The match of a request that decodes, with its message. */
function decoded(found: ReturnType<Transcoder["match"]>, body?: string) {
  if (found.kind !== "match") return undefined;
  const result = found.decode(body === undefined ? undefined : { bytes: Buffer.from(body) });
  return result.kind === "message" ? { match: found, message: result.message } : undefined;
}

const sameRoute = (a: Match, b: Match) => a.method === b.method;

/** The printer writes JSON bodies of whole messages, and a method that a request can have. */
function isPrintable({ method, body, httpMethod }: Route): boolean {
  return body.kind !== "field" && httpMethod !== "*" && method.input.typeName !== "google.api.HttpBody";
}

describe("the transcoder", () => {
  fuzz(
    "answers any request with a match, the allowed methods or a typed failure",
    fc.property(service, line, fc.string(), (name, request, body) => {
      const found = transcoders[name].match(request);
      const result = found.kind === "match" ? found.decode({ bytes: Buffer.from(body) }) : found;
      if (result.kind === "failure") {
        expect(result.error).toBeInstanceOf(A2AError);
        expect(result.error.row.http).toBeGreaterThanOrEqual(400);
        expect(result.error.row.http).toBeLessThan(500);
        expect(result.error.headers.allow !== undefined).toBe(result.problem === "method not allowed");
      }
      expect(Object.keys(Object.prototype)).toEqual([]);
    }),
  );

  fuzz(
    "accepts nothing that a printer cannot say again",
    fc.property(service, line, (name, request) => {
      const coder = transcoders[name];
      const first = decoded(coder.match(request));
      if (!first || !isPrintable(first.match.route)) return;
      const printed = printRequest(first.match.route, first.message);
      const again = decoded(coder.match(printed), printed.body);
      if (!again) throw new Error(`${printed.method} ${printed.target} is not accepted`);
      expect(sameRoute(first.match, again.match)).toBe(true);
      expect(sameMessage(first.match.method.input, first.message, again.message)).toBe(true);
    }),
  );

  fuzz(
    "routes by raw text: what an escape stands for makes no difference",
    fc.property(service, line, fc.constantFrom("%78", "%2F", "%3A", "%2e"), (name, request, other) => {
      const coder = transcoders[name];
      const [raw = ""] = request.target.split("?");
      const route = routeOf(coder, { method: request.method, target: raw });
      const target = raw.replace(/%[0-9A-Fa-f]{2}/g, other);
      expect(routeOf(coder, { method: request.method, target })).toBe(route);
    }),
  );

  fuzz(
    "reads a value the same however much of it is escaped",
    fc.property(value, value, fc.infiniteStream(fc.boolean()), (tenant, id, choices) => {
      const escaped = `/${escapeSome(tenant, choices)}/tasks/${escapeSome(id, choices)}`;
      for (const [method, target] of [
        ["GET", escaped],
        ["POST", `${escaped}:cancel`],
      ] as const) {
        const found = decoded(a2a.match({ method, target }));
        expect(found?.match.method.name).toBe(method === "GET" ? "GetTask" : "CancelTask");
        expect(found?.message).toMatchObject({ tenant, id });
      }
    }),
  );
});

/** Escapes what has to be escaped, and some of the rest. */
function escapeSome(text: string, choices: Iterator<boolean>): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      const mayStay = byte > 0x7f || /[A-Za-z0-9\-._~!$&'()*+,;=@"<>^`{|}\\]/.test(character);
      return mayStay && choices.next().value ? character : `%${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");
}

/** The RPC or the kind of failure; a path that fits but holds a bad value has found its route. */
function routeOf(coder: Transcoder, request: { method: string; target: string }): string {
  const found = coder.match(request);
  if (found.kind === "options") return found.allow;
  if (found.kind === "match") return "route";
  return found.problem === "bad path" ? "route" : `${found.problem} ${found.error.headers.allow}`;
}

describe("a template", () => {
  const piece = fc.constantFrom(
    "/",
    "*",
    "**",
    "{",
    "}",
    "=",
    ":",
    ".",
    "a",
    "b_c",
    "%2F",
    "%",
    "\u00e9",
    " ",
    "-",
  );
  const template = fc.oneof(
    fc.array(piece, { maxLength: 14 }).map((parts) => `/${parts.join("")}`),
    fc.string(),
  );

  fuzz(
    "parses, or names a column in it",
    fc.property(template, (source) => {
      const problem = problemOf(source);
      if (problem === undefined) return;
      const column = Number(/^column (\d+): ./.exec(problem)?.[1]);
      expect(column).toBeGreaterThanOrEqual(1);
      expect(column).toBeLessThanOrEqual(source.length + 1);
    }),
  );

  fuzz(
    "that parses is found by the path that it describes",
    fc.property(template, (source) => {
      if (problemOf(source) !== undefined) return;
      const { segments, verb } = parseTemplate(source);
      const router = createRouter<string>();
      router.shape(segments, verb).methods.set("GET", source);
      const parts = segments.map((part) => (part.kind === "literal" ? part.text : "x"));
      const last = `${parts.pop()}${verb === "" ? "" : `:${verb}`}`;
      expect(router.find([...parts, last])?.methods.get("GET")).toBe(source);
    }),
  );
});

function problemOf(source: string): string | undefined {
  try {
    parseTemplate(source);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}
