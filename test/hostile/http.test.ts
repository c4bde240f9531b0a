import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERRORS, type ErrorRow, type Reason } from "../../src/errors.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { createHttpClient, type HttpAsk, type HttpClient, textOf } from "../support/http-client.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import { type ConnectErrorJson, connectError } from "../support/wires/connect-json.js";
import type { NeutralError } from "../support/wires/index.js";
import { type Envelope, jsonRpcError } from "../support/wires/jsonrpc.js";
import { statesNumbers } from "../support/wires/neutral.js";
import { restError } from "../support/wires/rest.js";

interface Expected {
  readonly status: number;
  /** Row of the error that the body states; `unset`: the body is no error. */
  readonly reason?: Reason;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** The body to the letter. */
  readonly body?: string;
}

type Row = readonly [title: string, ask: HttpAsk, expected: Expected];

const V1 = { "a2a-version": "1.0" };
const JSON_V1 = { ...V1, "content-type": "application/json" };
const CONNECT = { "content-type": "application/json", "connect-protocol-version": "1" };
const RPC = "/lf.a2a.v1.A2AService";
const rpc = (id: unknown, method = "GetTask", params: unknown = { id: "x" }) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

const VERBS: readonly Row[] = [
  [
    "PUT where only POST is",
    { method: "PUT", path: "/message:send", headers: JSON_V1, body: "{}" },
    { status: 405, reason: "METHOD_NOT_ALLOWED", headers: { allow: "POST, OPTIONS" } },
  ],
  [
    "GET where only POST is",
    { method: "GET", path: "/message:stream", headers: V1 },
    { status: 405, reason: "METHOD_NOT_ALLOWED", headers: { allow: "POST, OPTIONS" } },
  ],
  [
    "POST where only GET is",
    { method: "POST", path: "/tasks/x", headers: JSON_V1, body: "{}" },
    { status: 405, reason: "METHOD_NOT_ALLOWED", headers: { allow: "GET, HEAD, OPTIONS" } },
  ],
  [
    "DELETE of a task",
    { method: "DELETE", path: "/tasks/x", headers: V1 },
    { status: 405, reason: "METHOD_NOT_ALLOWED", headers: { allow: "GET, HEAD, OPTIONS" } },
  ],
  [
    "PATCH of subscribe",
    { method: "PATCH", path: "/tasks/x:subscribe", headers: JSON_V1, body: "{}" },
    { status: 405, reason: "METHOD_NOT_ALLOWED", headers: { allow: "GET, HEAD, POST, OPTIONS" } },
  ],
  [
    "GET of the JSON-RPC address",
    { method: "GET", path: "/", headers: V1 },
    { status: 405, reason: "METHOD_NOT_ALLOWED", headers: { allow: "POST, OPTIONS" } },
  ],
  ["HEAD of a list", { method: "HEAD", path: "/tasks", headers: V1 }, { status: 200, body: "" }],
  [
    "OPTIONS of a list",
    { method: "OPTIONS", path: "/tasks" },
    { status: 204, headers: { allow: "GET, HEAD, OPTIONS" }, body: "" },
  ],
  [
    "a path that nothing has",
    { method: "GET", path: "/no/such/path/here", headers: V1 },
    { status: 404, reason: "NO_ROUTE" },
  ],
  [
    "a path that only looks like one",
    { method: "GET", path: "/tasks/", headers: V1 },
    { status: 404, reason: "NO_ROUTE" },
  ],
  ["two slashes", { method: "GET", path: "//tasks", headers: V1 }, { status: 404, reason: "NO_ROUTE" }],
  [
    "a verb without an id",
    { method: "POST", path: "/tasks/:cancel", headers: JSON_V1, body: "{}" },
    { status: 404, reason: "NO_ROUTE" },
  ],
  ["GET of an RPC", { method: "GET", path: `${RPC}/GetTask` }, { status: 405 }],
];

const TARGETS: readonly Row[] = [
  [
    "an encoded slash does not leave the id",
    { method: "GET", path: "/tasks/a%2Fb", headers: V1 },
    { status: 400, reason: "INVALID_ARGUMENT" },
  ],
  [
    "an encoded colon is no verb",
    { method: "POST", path: "/tasks/a%3Acancel", headers: JSON_V1, body: "{}" },
    { status: 405, reason: "METHOD_NOT_ALLOWED" },
  ],
  [
    "an encoded slash does not enter a tenant",
    { method: "GET", path: "/acme%2Ftasks%2Ft1", headers: V1 },
    { status: 404, reason: "NO_ROUTE" },
  ],
  ["dots", { method: "GET", path: "/tasks/..", headers: V1 }, { status: 400, reason: "INVALID_ARGUMENT" }],
  [
    "encoded dots",
    { method: "GET", path: "/tasks/%2e%2e", headers: V1 },
    { status: 400, reason: "INVALID_ARGUMENT" },
  ],
  [
    "a broken escape",
    { method: "GET", path: "/tasks/%zz", headers: V1 },
    { status: 400, reason: "INVALID_ARGUMENT" },
  ],
  [
    "bytes that are no UTF-8",
    { method: "GET", path: "/tasks/%FF", headers: V1 },
    { status: 400, reason: "INVALID_ARGUMENT" },
  ],
  [
    "an encoded NUL",
    { method: "GET", path: "/tasks/a%00b", headers: V1 },
    { status: 400, reason: "INVALID_ARGUMENT" },
  ],
  [
    "names of Object.prototype in the query",
    { method: "GET", path: "/tasks?__proto__=x&constructor=y&contextId=none", headers: V1 },
    { status: 200, body: '{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}' },
  ],
  [
    "a query value of the wrong type",
    { method: "GET", path: "/tasks?pageSize=many", headers: V1 },
    { status: 400, reason: "INVALID_ARGUMENT" },
  ],
  [
    "names that other drafts used",
    { method: "GET", path: "/tasks?cursor=x&limit=2&contextId=none", headers: V1 },
    { status: 200 },
  ],
  [
    "the id again, but another one",
    { method: "GET", path: "/tasks/t1?id=t2", headers: V1 },
    { status: 400, reason: "INVALID_ARGUMENT" },
  ],
  [
    "a target beyond the limit",
    { method: "GET", path: `/tasks?contextId=${"x".repeat(9000)}`, headers: V1 },
    { status: 414, reason: "TARGET_TOO_LONG" },
  ],
];

const MEDIA_TYPES: readonly Row[] = [
  [
    "JSON-RPC with parameters",
    {
      method: "POST",
      path: "/",
      headers: { ...V1, "content-type": 'Application/JSON; charset="utf-8"' },
      body: rpc(1),
    },
    { status: 200, reason: "TASK_NOT_FOUND" },
  ],
  [
    "JSON-RPC of another +json type",
    { method: "POST", path: "/", headers: { ...V1, "content-type": "application/a2a+json" }, body: rpc(1) },
    { status: 200, reason: "TASK_NOT_FOUND" },
  ],
  [
    "JSON-RPC without a type",
    { method: "POST", path: "/", headers: V1, body: rpc(1) },
    { status: 200, reason: "TASK_NOT_FOUND" },
  ],
  [
    "JSON-RPC as text",
    { method: "POST", path: "/", headers: { ...V1, "content-type": "text/plain" }, body: rpc(1) },
    { status: 200, reason: "MEDIA_TYPE_NOT_SUPPORTED" },
  ],
  [
    "JSON-RPC as a form",
    {
      method: "POST",
      path: "/",
      headers: { ...V1, "content-type": "application/x-www-form-urlencoded" },
      body: rpc(1),
    },
    { status: 200, reason: "MEDIA_TYPE_NOT_SUPPORTED" },
  ],
  [
    "REST with parameters",
    {
      method: "POST",
      path: "/tasks/x:cancel",
      headers: { ...V1, "content-type": "application/json;charset=UTF-8" },
      body: "{}",
    },
    { status: 404, reason: "TASK_NOT_FOUND" },
  ],
  [
    "REST as text",
    { method: "POST", path: "/message:send", headers: { ...V1, "content-type": "text/plain" }, body: "{}" },
    { status: 415, reason: "MEDIA_TYPE_NOT_SUPPORTED" },
  ],
  [
    "REST without body and type",
    { method: "POST", path: "/tasks/x:cancel", headers: V1 },
    { status: 404, reason: "TASK_NOT_FOUND" },
  ],
  [
    "REST with a type but no body",
    { method: "POST", path: "/tasks/x:cancel", headers: { ...V1, "content-type": "text/plain" } },
    { status: 404, reason: "TASK_NOT_FOUND" },
  ],
  [
    "REST in an unknown encoding",
    { method: "POST", path: "/message:send", headers: { ...JSON_V1, "content-encoding": "br" }, body: "{}" },
    { status: 415, reason: "MEDIA_TYPE_NOT_SUPPORTED" },
  ],
  [
    "REST in broken gzip",
    {
      method: "POST",
      path: "/message:send",
      headers: { ...JSON_V1, "content-encoding": "gzip" },
      body: "not gzip",
    },
    { status: 400, reason: "PARSE_ERROR" },
  ],
  [
    "REST in gzip",
    {
      method: "POST",
      path: "/tasks/x:cancel",
      headers: { ...JSON_V1, "content-encoding": "gzip" },
      body: gzipSync("{}"),
    },
    { status: 404, reason: "TASK_NOT_FOUND" },
  ],
  [
    "JSON-RPC in gzip",
    {
      method: "POST",
      path: "/",
      headers: { ...JSON_V1, "content-encoding": "gzip" },
      body: gzipSync(rpc(1)),
    },
    { status: 200, reason: "TASK_NOT_FOUND" },
  ],
  [
    "Connect with another type",
    { method: "POST", path: `${RPC}/GetTask`, headers: { "content-type": "text/plain" }, body: "{}" },
    { status: 415 },
  ],
  [
    "Connect with parameters",
    {
      method: "POST",
      path: `${RPC}/GetTask`,
      headers: { ...CONNECT, "content-type": "application/json; charset=utf-8" },
      body: '{"id":"x"}',
    },
    { status: 404, reason: "TASK_NOT_FOUND" },
  ],
  [
    "a method that no service has",
    { method: "POST", path: `${RPC}/Nope`, headers: CONNECT, body: "{}" },
    { status: 501, reason: "METHOD_NOT_FOUND" },
  ],
];

const ENVELOPES: readonly Row[] = [
  [
    "a batch",
    { method: "POST", path: "/", headers: JSON_V1, body: `[${rpc(1)}]` },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "an empty batch",
    { method: "POST", path: "/", headers: JSON_V1, body: "[]" },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "null",
    { method: "POST", path: "/", headers: JSON_V1, body: "null" },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  ["no body", { method: "POST", path: "/", headers: JSON_V1 }, { status: 200, reason: "PARSE_ERROR" }],
  [
    "no id",
    {
      method: "POST",
      path: "/",
      headers: JSON_V1,
      body: '{"jsonrpc":"2.0","method":"GetTask","params":{"id":"x"}}',
    },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "no jsonrpc",
    { method: "POST", path: "/", headers: JSON_V1, body: '{"id":1,"method":"GetTask"}' },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "jsonrpc 1.0",
    { method: "POST", path: "/", headers: JSON_V1, body: '{"jsonrpc":"1.0","id":1,"method":"GetTask"}' },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "jsonrpc as a number",
    { method: "POST", path: "/", headers: JSON_V1, body: '{"jsonrpc":2.0,"id":1,"method":"GetTask"}' },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "an object as the id",
    { method: "POST", path: "/", headers: JSON_V1, body: rpc({}) },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "no method",
    { method: "POST", path: "/", headers: JSON_V1, body: '{"jsonrpc":"2.0","id":1}' },
    { status: 200, reason: "INVALID_REQUEST" },
  ],
  [
    "a method that does not exist",
    { method: "POST", path: "/", headers: JSON_V1, body: rpc(1, "message/send") },
    { status: 200, reason: "METHOD_NOT_FOUND" },
  ],
  [
    "a method named after Object.prototype",
    { method: "POST", path: "/", headers: JSON_V1, body: rpc(1, "toString") },
    { status: 200, reason: "METHOD_NOT_FOUND" },
  ],
  [
    "params as a list",
    { method: "POST", path: "/", headers: JSON_V1, body: rpc(1, "GetTask", ["x"]) },
    { status: 200, reason: "INVALID_ARGUMENT" },
  ],
  [
    "params as null",
    { method: "POST", path: "/", headers: JSON_V1, body: rpc(1, "GetTask", null) },
    { status: 200, reason: "INVALID_ARGUMENT" },
  ],
  [
    "no params",
    { method: "POST", path: "/", headers: JSON_V1, body: '{"jsonrpc":"2.0","id":1,"method":"GetTask"}' },
    { status: 200, reason: "INVALID_ARGUMENT" },
  ],
];

/** What an id is answered with, to the letter. */
const IDS: readonly (readonly [id: string, echoed: string])[] = [
  ["1", "1"],
  ["1.0", "1.0"],
  ["-0", "-0"],
  ["1e2", "1e2"],
  ["12345678901234567890", "12345678901234567890"],
  ["null", "null"],
  ['""', '""'],
  ['"ü\\u0041\\n"', '"üA\\n"'],
  ['"</script>"', '"</script>"'],
];

let gateway: TestGateway;

beforeAll(async () => {
  const agent = createScriptedAgent();
  gateway = await startGateway({ agents: [{ agent }, { tenant: "acme", agent }] });
});
afterAll(() => gateway.close());

describe.each([1, 2] as const)("HTTP/%i requests that are not as they should be", (version) => {
  let http: HttpClient;
  beforeAll(() => {
    http = createHttpClient(gateway.http, version);
  });
  afterAll(() => http.close());

  test.each([...VERBS, ...TARGETS, ...MEDIA_TYPES, ...ENVELOPES])("%s", async (_title, ask, expected) => {
    const answer = await http.ask(ask);
    const body = await textOf(answer);
    expect(answer.status, body).toBe(expected.status);
    if (expected.reason) expectReason(readError(body, answer.status), expected.reason);
    if (expected.headers) expect(answer.headers).toMatchObject(expected.headers);
    if (expected.body !== undefined) expect(body).toBe(expected.body);
    expect(body).not.toMatch(/<html|node_modules|\bat \//i);
  });

  test.each(IDS)("the JSON-RPC id %s comes back as it was written", async (id, echoed) => {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"GetTask","params":{"id":"x"}}`;
    const answer = await http.ask({ method: "POST", path: "/", headers: JSON_V1, body });
    expect(await textOf(answer)).toContain(`{"jsonrpc":"2.0","id":${echoed},"error":{"code":-32001,`);
  });
});

/** The error in a body, in whichever of the three JSON forms it is. */
function readError(body: string, status: number): NeutralError {
  const json = JSON.parse(body) as Envelope & ConnectErrorJson & { error: NonNullable<Envelope["error"]> };
  if (json.jsonrpc) return jsonRpcError(json.error, status);
  return typeof json.code === "string" ? connectError(json, status) : restError(JSON.parse(body), status);
}

function expectReason(error: NeutralError, reason: Reason): void {
  const row = ERRORS.get(reason) as ErrorRow;
  expect({ code: error.code, info: error.reason }, error.message).toEqual({ code: row.code, info: row.info });
  const { http: _, ...numbers } = error.numbers;
  expect(statesNumbers(row, numbers), JSON.stringify(error.numbers)).toBe(true);
}
