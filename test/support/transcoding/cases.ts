import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import {
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";

/** One case of test/wire/transcoding.json. */
export interface TranscodingCase {
  readonly id: string;
  readonly proto: "a2a" | "synthetic";
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** `gateway`: needs version, REQUIRED check, CORS or card, so the whole gateway. */
  readonly level?: "gateway";
  readonly expect: Expectation;
}

interface Expectation {
  readonly rpc?: string;
  /** The request as it reaches the dispatcher, in ProtoJSON. */
  readonly message?: JsonObject;
  readonly http?: number;
  readonly status?: string;
  readonly reason?: string;
  readonly allow?: string;
}

/** All cases, in their order. */
export const TRANSCODING_CASES: readonly TranscodingCase[] = (
  JSON.parse(readFileSync("test/wire/transcoding.json", "utf8")) as { cases: TranscodingCase[] }
).cases;

/** Cases for the whole gateway. Each carries `A2A-Version: 1.0` unless it states a version itself. */
export const GATEWAY_CASES: readonly TranscodingCase[] = TRANSCODING_CASES.filter(
  ({ level }) => level === "gateway",
).map((found) => ({ ...found, headers: withVersion(found) }));

function withVersion({ target, headers = {} }: TranscodingCase): Record<string, string> {
  const stated = "a2a-version" in headers || target.includes("A2A-Version=");
  return stated ? headers : { "a2a-version": "1.0", ...headers };
}

const SEND = '{"message": {"role": "ROLE_USER", "messageId": "m1", "parts": [{"text": "hi"}]}}';

/** The body to send: some cases describe theirs. `maxBytes` is the limit of the server under test. */
export function bodyOf({ body }: TranscodingCase, maxBytes: number): string | Uint8Array | undefined {
  switch (body) {
    case "<gzip bytes>":
      return gzipSync(SEND);
    case "<over the limit>":
      return `{"metadata":{"filler":"${"x".repeat(maxBytes)}"}}`;
    case "<JSON nested 10 000 deep>":
      return `{"metadata":${'{"a":'.repeat(10_000)}0${"}".repeat(10_000)}}`;
    default:
      return body === "" ? undefined : body;
  }
}

/** An answer that is no call. */
export interface HttpOutcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Compares an answer with what the case expects of it. */
export function checkAnswer({ id, expect }: TranscodingCase, { status, headers, body }: HttpOutcome): void {
  assert.equal(status, expect.http, `HTTP status of ${id}: ${body}`);
  if (expect.allow !== undefined) assert.equal(headers.allow, expect.allow, `Allow of ${id}`);
  if (expect.status === undefined || expect.status === "") {
    assert.equal(body, "", `body of ${id}`);
    return;
  }
  const { error } = JSON.parse(body) as { error: JsonObject };
  assert.equal(error.code, expect.http, `code of ${id}`);
  assert.equal(error.status, expect.status, `status of ${id}`);
  checkReason(id, expect.reason, error);
}

/** A reason in capitals is the one of the ErrorInfo; any other describes the text. */
function checkReason(id: string, reason: string | undefined, error: JsonObject): void {
  const details = error.details as JsonObject[];
  const info = details.find((detail) => detail["@type"] === "type.googleapis.com/google.rpc.ErrorInfo");
  if (reason !== undefined && /^[A-Z_]+$/.test(reason)) assert.equal(info?.reason, reason, `reason of ${id}`);
  else assert.equal(info, undefined, `${id} is none of the errors that the specification names`);
}

/** Compares a decoded request with what the case expects to reach the dispatcher. */
export function checkRequest(
  { id, expect }: TranscodingCase,
  decoded: { readonly rpc: string; readonly schema: DescMessage; readonly message: Message },
): void {
  assert.equal(decoded.rpc, expect.rpc, `RPC of ${id}`);
  const wanted = fromJson(decoded.schema, expect.message as JsonValue);
  assert.deepEqual(
    toJson(decoded.schema, decoded.message),
    toJson(decoded.schema, wanted),
    `message of ${id}`,
  );
}

/** Sends one request to the gateway under test and gives its whole answer, header names in lower case. */
export type Ask = (request: {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}) => Promise<HttpOutcome>;

/** Plays a gateway case. A gateway must allow the origin `https://app.example` for all of them to hold. */
export async function playGatewayCase(found: TranscodingCase, ask: Ask): Promise<void> {
  const { method, target, headers = {} } = found;
  const sent =
    "if-none-match" in headers ? { ...headers, "if-none-match": await etagOf(found, ask) } : headers;
  const answer = await ask({ method, target, headers: sent, body: bodyOf(found, 0) });
  checkAnswer(found, answer);
  if (headers.origin !== undefined) {
    assert.equal(answer.headers["access-control-allow-origin"], headers.origin, `CORS of ${found.id}`);
  }
}

/** The case says `"etag"` where it means the one that the gateway gives. */
async function etagOf({ target }: TranscodingCase, ask: Ask): Promise<string> {
  const { headers } = await ask({ method: "GET", target, headers: {}, body: undefined });
  return String(headers.etag);
}
