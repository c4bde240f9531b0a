import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { CODES, type Code } from "../../../src/errors.js";
import {
  createHttpClient,
  type HttpAddress,
  type HttpAnswer,
  type HttpClient,
  textOf,
} from "../http-client.js";
import { detailFromBinary, neutralError } from "./neutral.js";
import { exactJson, methodOf } from "./shape.js";
import {
  type Answer,
  type AskOptions,
  type NeutralError,
  type Step,
  streamOf,
  type WireClient,
} from "./wire.js";

/** Set in the flags of the last frame of a Connect stream. */
const END_STREAM = 0x02;

export interface ConnectErrorJson {
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

/** Connect with JSON, written by hand after the protocol's own document: it can say what protobuf cannot. */
export function createConnectJsonClient(address: HttpAddress, httpVersion: 1 | 2): WireClient {
  const http = createHttpClient(address, httpVersion);
  return {
    call: (method, request, ask = {}) => callUnary(http, method, request, ask),
    stream: (method, request, ask = {}) =>
      streamOf((signal) => readStream(http, method, request, ask, signal)),
    close: http.close,
  };
}

async function callUnary(
  http: HttpClient,
  name: string,
  request: JsonObject,
  ask: AskOptions,
): Promise<Answer> {
  const answer = await http.ask({
    method: "POST",
    path: pathOf(name, ask),
    headers: headersFor(ask, "application/json"),
    body: JSON.stringify(request),
  });
  assert.equal(answer.headers["content-type"], "application/json");
  const json = JSON.parse(await textOf(answer)) as JsonValue;
  const headers = answer.headers;
  if (answer.status === 200) return { kind: "ok", message: exactJson(methodOf(name).output, json), headers };
  return { kind: "error", error: connectError(json as unknown as ConnectErrorJson, answer.status), headers };
}

async function* readStream(
  http: HttpClient,
  name: string,
  request: JsonObject,
  ask: AskOptions,
  signal: AbortSignal,
): AsyncGenerator<Step, void> {
  const answer = await http.ask({
    method: "POST",
    path: pathOf(name, ask),
    headers: headersFor(ask, "application/connect+json"),
    body: frame(0, JSON.stringify(request)),
    signal,
  });
  assert.equal(answer.status, 200, "a Connect stream states its error in the last frame");
  assert.equal(answer.headers["content-type"], "application/connect+json");
  const headers = answer.headers;
  let first = true;
  for await (const { flags, text } of framesOf(answer)) {
    const json = JSON.parse(text) as JsonValue;
    if (flags === END_STREAM) {
      const { error } = json as { error?: ConnectErrorJson };
      if (error) yield { kind: "error", error: connectError(error), first, headers };
      return;
    }
    assert.equal(flags, 0);
    yield { kind: "event", message: exactJson(methodOf(name).output, json), headers };
    first = false;
  }
  assert.ok(signal.aborted, "a Connect stream ends with an end-stream frame");
}

/** One enveloped message. */
export function frame(flags: number, body: string | Uint8Array): Buffer {
  const bytes = Buffer.from(body as string);
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

async function* framesOf(answer: HttpAnswer): AsyncGenerator<{ flags: number; text: string }> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of answer.body) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 5 && pending.length >= 5 + pending.readUInt32BE(1)) {
      const end = 5 + pending.readUInt32BE(1);
      yield { flags: pending.readUInt8(0), text: pending.toString("utf8", 5, end) };
      pending = pending.subarray(end);
    }
  }
  assert.equal(pending.length, 0, "no frame is cut short");
}

/** Error object of Connect, from a unary answer with its HTTP status or from an end-stream frame. */
export function connectError(
  { code, message = "", details = [] }: ConnectErrorJson,
  status?: number,
): NeutralError {
  const name = (code === "canceled" ? "CANCELLED" : code.toUpperCase()) as Code;
  assert.ok(name in CODES, `unknown Connect code ${code}`);
  return neutralError({
    code: name,
    message,
    details: details.map(({ type, value }) =>
      detailFromBinary(`type.googleapis.com/${type}`, Buffer.from(value, "base64")),
    ),
    numbers: status === undefined ? {} : { http: status },
  });
}

function pathOf(name: string, { queryVersion }: AskOptions): string {
  const query = queryVersion === undefined ? "" : `?A2A-Version=${encodeURIComponent(queryVersion)}`;
  return `/lf.a2a.v1.A2AService/${name}${query}`;
}

function headersFor({ headers = {}, version, timeoutMs }: AskOptions, type: string): Record<string, string> {
  return {
    "content-type": type,
    "connect-protocol-version": "1",
    ...(timeoutMs === undefined ? {} : { "connect-timeout-ms": String(timeoutMs) }),
    ...(typeof version === "string" ? { "a2a-version": version } : {}),
    ...headers,
  };
}
