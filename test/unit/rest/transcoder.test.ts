import { type DescMethod, toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { createTranscoder } from "../../../src/bindings/rest/transcoder.js";
import { A2AService } from "../../../src/protocol/schema.js";
import { testService } from "../../support/test-protos.js";

const rules = createTranscoder([testService("RulesService")]);
const a2a = createTranscoder([A2AService]);

interface Sent {
  readonly transcoder?: ReturnType<typeof createTranscoder>;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
}

/** What becomes of a request: `RPC` and message, or problem, HTTP status and text. */
function outcome(line: string, { transcoder = rules, body, contentType }: Sent = {}): unknown {
  const [method = "", target = ""] = line.split(" ", 2);
  const found = transcoder.match({ method, target });
  if (found.kind === "options") return found.allow;
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const decoded = found.kind === "match" ? found.decode(bytes && { bytes, contentType }) : found;
  if (decoded.kind === "message") return [nameOf(found), toJson(inputOf(found), decoded.message)];
  const { problem, error } = decoded;
  return [problem, error.row.http, error.headers.allow ?? error.message];
}

function methodOf(found: ReturnType<typeof rules.match>): DescMethod {
  if (found.kind !== "match") throw new Error("no match");
  return found.method;
}
const nameOf = (found: ReturnType<typeof rules.match>) => methodOf(found).name;
const inputOf = (found: ReturnType<typeof rules.match>) => methodOf(found).input;

const BAD_PATH = "the path is not percent-encoded UTF-8, or holds a control character or a dot segment";

describe("S1-02: a path", () => {
  test.each([
    ["GET /tasks/a%3Acancel", "a:cancel"],
    ["GET /tasks/a:c%61ncel", "a:cancel"],
    ["GET /tasks/a%2Fb", "a/b"],
    ["GET /tasks/a%252Fb", "a%2Fb"],
    ["GET /tasks/%E2%82%AC", "\u20ac"],
    ["GET /tasks/\u00e2\u0082\u00ac", "\u20ac"], // octets that were not escaped
    ["GET /tasks/...", "..."],
    ["GET /tasks/a\\b", "a\\b"],
    ["GET /tasks/a@b!$&'()*,;=~", "a@b!$&'()*,;=~"],
  ])("%s carries the id %j", (line, id) => {
    expect(outcome(line, { transcoder: a2a })).toEqual(["GetTask", { id }]);
  });

  test.each([
    ["/tasks/%"],
    ["/tasks/%4"],
    ["/tasks/%zz"],
    ["/tasks/%ff"],
    ["/tasks/%C0%AF"],
    ["/tasks/%ED%A0%80"],
    ["/tasks/\u00e9"],
    ["/tasks/%0a"],
    ["/tasks/%7F"],
    ["/tasks/a%C2%85b"],
    ["/tasks/."],
    ["/tasks/.."],
    ["/tasks/%2E%2e"],
  ])("%s is no value", (target) => {
    expect(outcome(`GET ${target}`, { transcoder: a2a })).toEqual(["bad path", 400, `id: ${BAD_PATH}`]);
  });

  test.each([["/../tasks"], ["/%2e/tasks"]])("%s is no tenant", (target) => {
    expect(outcome(`GET ${target}`, { transcoder: a2a })).toEqual(["bad path", 400, `tenant: ${BAD_PATH}`]);
  });

  test.each([
    ["tasks"],
    ["*"],
    [""],
    ["http://example.org/tasks"],
    ["//tasks"],
    ["/acme//tasks"],
    ["/acme%2Ftasks"],
    ["/%74asks"],
    ["\\tasks"],
    ["/tasks/t1/"],
  ])("nothing is at %j", (target) => {
    expect(outcome(`GET ${target}`, { transcoder: a2a })).toMatchObject(["no route", 404, expect.anything()]);
  });

  test.each([
    ["/files/a/../b"],
    ["/files/%2e"],
    ["/files/a/%2E%2E/b"],
    ["/files/a%00"],
    ["/two/%zz/b"],
    ["/two/../b"],
    ["/two/a/%ff"],
    ["/v1/projects/%0D/tasks/t"],
  ])("%s holds what is no value", (target) => {
    const transcoder = createTranscoder([testService("SyntheticService")]);
    expect(outcome(`GET ${target}`, { transcoder })).toMatchObject(["bad path", 400, expect.anything()]);
  });

  test("keeps an escaped slash of several segments as it was written", () => {
    const transcoder = createTranscoder([testService("SyntheticService")]);
    expect(outcome("GET /files/a%2Fb/c%2fd%20e%E2%82%AC", { transcoder })).toEqual([
      "Rest",
      { path: "a%2Fb/c%2fd e\u20ac" },
    ]);
  });

  test.each([
    ["/kinds/i32/-5", { i32: -5 }],
    ["/kinds/i32/%2D5", { i32: -5 }],
    ["/kinds/u64/18446744073709551615", { u64: "18446744073709551615" }],
    ["/kinds/bool/true", { bool: true }],
    ["/kinds/enum/CHOICE_BELOW", { choice: "CHOICE_BELOW" }],
    ["/kinds/time/2026-01-02T03:04:05Z", { time: "2026-01-02T03:04:05Z" }],
    ["/kinds/time/2026-01-02T05:04:05+02:00", { time: "2026-01-02T03:04:05Z" }],
    ["/kinds/wrapped/0", { wrappedI32: 0 }],
    ["/kinds/bytes/-_8", { bytes: "+/8=" }],
    ["/kinds/one/x", { oneString: "x" }],
    ["/kinds/optional/0", { optionalI32: 0 }],
  ])("%s is read by the type of its field", (target, message) => {
    expect(outcome(`GET ${target}`)).toEqual(["GetKinds", message]);
  });

  test.each([
    ["/kinds/i32/x", "i32: expected a 32-bit integer"],
    ["/kinds/i32/2147483648", "i32: expected a 32-bit integer"],
    ["/kinds/bool/1", "bool: expected true or false"],
    ["/kinds/enum/NOPE", "choice: expected a value of switchyard.test.v1.Choice"],
    ["/kinds/time/yesterday", "time: expected an RFC 3339 timestamp"],
  ])("%s does not fit its field", (target, text) => {
    expect(outcome(`GET ${target}`)).toEqual(["bad path", 400, text]);
  });
});

describe("the HTTP method", () => {
  test.each([
    ["GET /custom", ["method not allowed", 405, "LINK, OPTIONS"]],
    ["OPTIONS /custom", "LINK, OPTIONS"],
    ["link /custom", ["method not allowed", 405, "LINK, OPTIONS"]],
    ["LINK /custom", ["Link", {}]],
    ["GET /any", ["Link", {}]],
    ["HEAD /any", ["Link", {}]],
    ["BREW /any", ["Link", {}]],
    ["OPTIONS /any", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"],
    ["HEAD /head", ["Link", {}]],
    ["GET /head", ["method not allowed", 405, "HEAD, OPTIONS"]],
    ["HEAD /kinds", ["GetKinds", {}]],
    ["OPTIONS /nothing", ["no route", 404, "There is nothing at this address."]],
    ["POST /kinds?i32=x", ["method not allowed", 405, "GET, HEAD, OPTIONS"]],
  ])("%s", (line, expected) => {
    expect(outcome(line)).toEqual(expected);
  });
});

describe("path, query and body together", () => {
  const conflict = (text: string) => ["binding conflict", 400, text];

  test.each([
    ["GET /kinds/i32/5?i32=5", undefined, ["GetKinds", { i32: 5 }]],
    ["GET /kinds/i32/5?i32=", undefined, ["GetKinds", { i32: 5 }]],
    ["GET /kinds/i32/5?i32=6", undefined, conflict("i32: the query differs from the path")],
    ["GET /kinds/i32/5?i32=x", undefined, conflict("i32: the query differs from the path")],
    [
      "GET /kinds/time/2026-01-02T03:04:05Z?time=2026-01-02T03:04:05.000Z",
      undefined,
      expect.arrayContaining(["GetKinds"]),
    ],
    ["GET /kinds/bytes/-_8?bytes=%2B/8=", undefined, ["GetKinds", { bytes: "+/8=" }]],
    [
      "GET /kinds/one/x?oneChoice=0",
      undefined,
      ["bad query", 400, "oneChoice: another member of its oneof is set"],
    ],
    ["POST /kinds/one/x", "null", ["GetKinds", { oneString: "x" }]],
    ["POST /kinds/one/x", '{"oneString":"x"}', ["GetKinds", { oneString: "x" }]],
    ["POST /kinds/one/x", '{"oneString":""}', ["GetKinds", { oneString: "x" }]],
    ["POST /kinds/one/x", '{"oneString":"y"}', conflict("oneString: the body differs from the path")],
    ["POST /kinds/one/x", '{"oneChoice":1}', conflict("oneString: the body differs from the path")],
    ["POST /kinds/one/x?oneString=y", "{}", ["GetKinds", { oneString: "x" }]],
    ["POST /kinds/optional/5", '{"optionalI32":0}', conflict("optionalI32: the body differs from the path")],
    ["POST /kinds/optional/0", '{"optionalI32":0}', ["GetKinds", { optionalI32: 0 }]],
    ["POST /kinds/bytes/-_8", '{"bytes":"+/8="}', ["GetKinds", { bytes: "+/8=" }]],
    ["POST /kinds/bytes/-_8", '{"bytes":"+/A="}', conflict("bytes: the body differs from the path")],
    [
      "POST /kinds/time/2026-01-02T03:04:05Z",
      '{"time":"2026-01-02T03:04:05.5Z"}',
      conflict("time: the body differs from the path"),
    ],
    [
      "POST /kinds/time/2026-01-02T03:04:05Z",
      '{"time":"2026-01-02T03:04:05.0Z"}',
      ["GetKinds", { time: "2026-01-02T03:04:05Z" }],
    ],
    ["PATCH /books/b1", '{"title":"T"}', ["SetUpdate", { book: { id: "b1", title: "T" } }]],
    ["PATCH /books/b1", '{"id":"b1","title":"T"}', ["SetUpdate", { book: { id: "b1", title: "T" } }]],
    ["PATCH /books/b1", '{"id":"b2","title":"T"}', conflict("book.id: the body differs from the path")],
    ["PATCH /books/b1", "", ["SetUpdate", { book: { id: "b1" } }]],
    ["PATCH /books/b1", "null", ["SetUpdate", { book: { id: "b1" } }]],
    [
      "PATCH /books/b1?count=3&kind=k",
      '{"title":"T"}',
      ["SetUpdate", { book: { id: "b1", title: "T" }, count: 3, kind: "k" }],
    ],
    ["PATCH /books/b1?book.title=x", '{"title":"T"}', conflict("book.title: the body holds this field")],
    ["PATCH /books/b1?book=x", "", ["bad query", 400, "book: a message has no text form"]],
    ["PUT /books/b1/tags", '["a","b"]', ["SetUpdate", { book: { id: "b1" }, tags: ["a", "b"] }]],
    ["PUT /books/b1/tags?tags=c", "[]", conflict("tags: the body holds this field")],
    ["PUT /books/b1/count?book.id=b1", "7", ["SetUpdate", { book: { id: "b1" }, count: 7 }]],
    ["PUT /books/b1/count?book.title=x", "7", ["SetUpdate", { book: { id: "b1", title: "x" }, count: 7 }]],
    [
      "PUT /books/b1/labels",
      '{"a":9007199254740993}',
      ["SetUpdate", { book: { id: "b1" }, labels: { a: "9007199254740993" } }],
    ],
    [
      "PUT /books/b1/extra",
      '{"a":[null,1.5]}',
      ["SetUpdate", { book: { id: "b1" }, extra: { a: [null, 1.5] } }],
    ],
    ["PUT /books/b1/extra", "null", ["SetUpdate", { book: { id: "b1" }, extra: null }]],
  ])("%s %s", (line, body, expected) => {
    expect(outcome(line, body === undefined ? {} : { body })).toEqual(expected);
  });

  test.each([
    ["PUT /books/b1/count", '7,"kind":"injected"'],
    ["PUT /books/b1/count", "7} {"],
    ["PUT /books/b1/count", '"x"'],
    ["PUT /books/b1/tags", '{"tags":[]}'],
    ["PATCH /books/b1", "[]"],
    ["PATCH /books/b1", '{"title":"T"'],
    ["POST /kinds/one/x", " "],
  ])("%s does not take %s", (line, body) => {
    expect(outcome(line, { body })).toMatchObject(["bad body", 400, expect.anything()]);
  });

  test("a body is not read where the annotation names none", () => {
    expect(outcome("GET /kinds", { body: '{"i32":' })).toEqual(["GetKinds", {}]);
  });

  test("strict mode refuses unknown members of a body", () => {
    const transcoder = createTranscoder([testService("RulesService")], { strict: true });
    const sent = { transcoder, body: '{"nope":1}' };
    expect(outcome("PATCH /books/b1", sent)).toMatchObject(["bad body", 400, expect.anything()]);
  });
});

test.each([
  ["POST /kinds/one/x", '{"deep":{"deep":{"deep":{}}}}'],
  ["PATCH /books/b1", '{"nope":[[[0]]]}'],
])("the depth of a body is limited: %s %s", (line, body) => {
  const transcoderOf = (maxDepth: number) => createTranscoder([testService("RulesService")], { maxDepth });
  expect(outcome(line, { transcoder: transcoderOf(3), body })).toMatchObject([
    "bad body",
    400,
    expect.anything(),
  ]);
  expect(outcome(line, { transcoder: transcoderOf(4), body })).not.toContain("bad body");
});

describe("google.api.HttpBody", () => {
  const body = Uint8Array.of(0xff, 0x00, 0x7b);

  test("takes the bytes and their media type", () => {
    expect(outcome("POST /raw", { body, contentType: "image/png" })).toEqual([
      "Upload",
      { contentType: "image/png", data: "/wB7" },
    ]);
  });

  test("does so in a field too, beside the path and the query", () => {
    expect(outcome("PUT /raw/n?note=x", { body, contentType: "image/png" })).toEqual([
      "UploadTo",
      { name: "n", note: "x", file: { contentType: "image/png", data: "/wB7" } },
    ]);
  });

  test("may be empty", () => {
    expect(outcome("POST /raw")).toEqual(["Upload", {}]);
  });
});

describe("an RPC without a rule", () => {
  test("is not served by default", () => {
    expect(outcome("POST /switchyard.test.v1.RulesService/Plain")).toMatchObject([
      "no route",
      404,
      expect.anything(),
    ]);
  });

  test("is served at its own name when asked for, unless its requests are a stream", () => {
    const transcoder = createTranscoder([testService("RulesService")], { serveUnannotated: true });
    const body = '{"count":1}';
    expect(outcome("POST /switchyard.test.v1.RulesService/Plain", { transcoder, body })).toEqual([
      "Plain",
      { count: 1 },
    ]);
    expect(outcome("POST /switchyard.test.v1.RulesService/Chat", { transcoder, body })).toMatchObject([
      "no route",
      404,
      expect.anything(),
    ]);
  });
});
