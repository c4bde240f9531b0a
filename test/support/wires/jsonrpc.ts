import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ERRORS } from "../../../src/errors.js";
import {
  createHttpClient,
  type HttpAddress,
  type HttpAnswer,
  type HttpClient,
  textOf,
} from "../http-client.js";
import { readSse } from "../sse-reader.js";
import { detailsFromJson, neutralError } from "./neutral.js";
import { exactJson, methodOf } from "./shape.js";
import {
  type Answer,
  type AskOptions,
  type NeutralError,
  type Step,
  streamOf,
  type WireClient,
} from "./wire.js";

/** Statuses that a JSON-RPC error may come with besides 200. */
const OWN_STATUS: readonly number[] = [401, 413, 429, 503];

export interface Envelope {
  readonly jsonrpc: string;
  readonly id: JsonValue;
  readonly result?: JsonValue;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonValue };
}

/** JSON-RPC over HTTP, written by hand. */
export function createJsonRpcClient(address: HttpAddress, httpVersion: 1 | 2): WireClient {
  const http = createHttpClient(address, httpVersion);
  let id = 0;
  return {
    call: (method, request, ask = {}) => callUnary(http, ++id, method, request, ask),
    stream: (method, request, ask = {}) =>
      streamOf((signal) => readStream(http, ++id, method, request, { ...ask, signal })),
    close: http.close,
  };
}

async function callUnary(
  http: HttpClient,
  id: number,
  name: string,
  request: JsonObject,
  ask: AskOptions,
): Promise<Answer> {
  const answer = await send(http, id, name, request, ask);
  return readAnswer(answer, id, name);
}

async function readAnswer(answer: HttpAnswer, id: number, name: string): Promise<Answer> {
  assert.equal(answer.headers["content-type"], "application/json");
  const envelope = openEnvelope(await textOf(answer), id);
  const headers = answer.headers;
  if (envelope.error) return { kind: "error", error: jsonRpcError(envelope.error, answer.status), headers };
  assert.equal(answer.status, 200);
  return { kind: "ok", message: exactJson(methodOf(name).output, envelope.result as JsonValue), headers };
}

async function* readStream(
  http: HttpClient,
  id: number,
  name: string,
  request: JsonObject,
  ask: AskOptions & { signal: AbortSignal },
): AsyncGenerator<Step, void> {
  const answer = await send(http, id, name, request, ask);
  const headers = answer.headers;
  if (headers["content-type"] !== "text/event-stream") {
    const refused = await readAnswer(answer, id, name);
    assert.equal(refused.kind, "error", "a stream is answered as a stream");
    if (refused.kind === "error") yield { ...refused, first: true };
    return;
  }
  assert.equal(answer.status, 200);
  let first = true;
  for await (const event of readSse(answer.body)) {
    assert.equal(event.dataLines, 1, "an event is one line of data");
    const envelope = openEnvelope(event.data, id);
    if (envelope.error) {
      yield { kind: "error", error: jsonRpcError(envelope.error, 200), first, headers };
      return;
    }
    const message = exactJson(methodOf(name).output, envelope.result as JsonValue);
    yield { kind: "event", message, headers, id: event.id };
    first = false;
  }
}

function send(
  http: HttpClient,
  id: number,
  name: string,
  request: JsonObject,
  ask: AskOptions & { signal?: AbortSignal },
): Promise<HttpAnswer> {
  const { headers = {}, version = "1.0", queryVersion, addressTenant = "", signal } = ask;
  const query = queryVersion === undefined ? "" : `?A2A-Version=${encodeURIComponent(queryVersion)}`;
  return http.ask({
    method: "POST",
    path: `/${encodeURIComponent(addressTenant)}${query}`,
    headers: {
      "content-type": "application/json",
      ...(version === null ? {} : { "a2a-version": version }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method: name, params: request }),
    ...(signal ? { signal } : {}),
  });
}

function openEnvelope(text: string, id: number): Envelope {
  const envelope = JSON.parse(text) as Envelope;
  assert.equal(envelope.jsonrpc, "2.0");
  assert.equal(envelope.id, id, "the caller's id comes back");
  assert.equal("result" in envelope, !("error" in envelope), "either a result or an error");
  return envelope;
}

/** Error object of a JSON-RPC response. */
export function jsonRpcError(
  { code, message, data }: NonNullable<Envelope["error"]>,
  status: number,
): NeutralError {
  const row = [...ERRORS.values()].find((each) => each.jsonrpc === code);
  assert.ok(row, `no row of the error table has ${code}`);
  const error = neutralError({
    code: row.code,
    message,
    details: detailsFromJson(data),
    numbers: { jsonrpc: code, ...(status === 200 ? {} : { http: status }) },
  });
  assert.ok(status === 200 || OWN_STATUS.includes(status), `HTTP status ${status} of a JSON-RPC error`);
  return error;
}
