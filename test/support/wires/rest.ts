import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Code } from "../../../src/errors.js";
import { createHttpClient, type HttpAddress, type HttpAnswer, textOf } from "../http-client.js";
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

const MEDIA_TYPE = "application/a2a+json";

interface Route {
  readonly verb: "GET" | "POST" | "DELETE";
  /** `{name}` takes a field of the request. */
  readonly path: string;
}

/** The table of specification 11.3, typed by hand so that the annotations are not their own judge. */
const ROUTES = new Map<string, Route>([
  ["SendMessage", { verb: "POST", path: "/message:send" }],
  ["SendStreamingMessage", { verb: "POST", path: "/message:stream" }],
  ["GetTask", { verb: "GET", path: "/tasks/{id}" }],
  ["ListTasks", { verb: "GET", path: "/tasks" }],
  ["CancelTask", { verb: "POST", path: "/tasks/{id}:cancel" }],
  ["SubscribeToTask", { verb: "POST", path: "/tasks/{id}:subscribe" }],
  ["CreateTaskPushNotificationConfig", { verb: "POST", path: "/tasks/{taskId}/pushNotificationConfigs" }],
  ["GetTaskPushNotificationConfig", { verb: "GET", path: "/tasks/{taskId}/pushNotificationConfigs/{id}" }],
  ["ListTaskPushNotificationConfigs", { verb: "GET", path: "/tasks/{taskId}/pushNotificationConfigs" }],
  [
    "DeleteTaskPushNotificationConfig",
    { verb: "DELETE", path: "/tasks/{taskId}/pushNotificationConfigs/{id}" },
  ],
  ["GetExtendedAgentCard", { verb: "GET", path: "/extendedAgentCard" }],
]);

interface Status {
  readonly code: number;
  readonly status: Code;
  readonly message: string;
  readonly details?: JsonValue;
}

/** REST, written by hand. On HTTP/2 it subscribes with GET, on HTTP/1.1 with POST: both are the same operation. */
export function createRestClient(address: HttpAddress, httpVersion: 1 | 2): WireClient {
  const http = createHttpClient(address, httpVersion);
  const routes = new Map(ROUTES);
  if (httpVersion === 2) routes.set("SubscribeToTask", { verb: "GET", path: "/tasks/{id}:subscribe" });
  const send: Send = (name, request, ask) => http.ask(restAsk(routes.get(name) as Route, request, ask));
  return {
    call: (method, request, ask = {}) => callUnary(send, method, request, ask),
    stream: (method, request, ask = {}) =>
      streamOf((signal) => readStream(send, method, request, { ...ask, signal })),
    close: http.close,
  };
}

type RestAsk = AskOptions & { readonly signal?: AbortSignal };
type Send = (name: string, request: JsonObject, ask: RestAsk) => Promise<HttpAnswer>;

async function callUnary(send: Send, name: string, request: JsonObject, ask: AskOptions): Promise<Answer> {
  const answer = await send(name, request, ask);
  return readAnswer(answer, name);
}

async function readAnswer(answer: HttpAnswer, name: string): Promise<Answer> {
  assert.equal(answer.headers["content-type"], MEDIA_TYPE);
  const json = JSON.parse(await textOf(answer)) as JsonValue;
  const headers = answer.headers;
  if (answer.status === 200) return { kind: "ok", message: exactJson(methodOf(name).output, json), headers };
  return { kind: "error", error: restError(json, answer.status), headers };
}

async function* readStream(
  send: Send,
  name: string,
  request: JsonObject,
  ask: RestAsk,
): AsyncGenerator<Step, void> {
  const answer = await send(name, request, ask);
  const headers = answer.headers;
  if (headers["content-type"] !== "text/event-stream") {
    const refused = await readAnswer(answer, name);
    assert.equal(refused.kind, "error", "a stream is answered as a stream");
    if (refused.kind === "error") yield { ...refused, first: true };
    return;
  }
  assert.equal(answer.status, 200);
  let first = true;
  for await (const event of readSse(answer.body)) {
    assert.equal(event.dataLines, 1, "an event is one line of data");
    const json = JSON.parse(event.data) as JsonValue;
    if (event.type === "error") {
      yield { kind: "error", error: restError(json, undefined), first, headers };
      return;
    }
    assert.equal(event.type, "message");
    yield { kind: "event", message: exactJson(methodOf(name).output, json), headers, id: event.id };
    first = false;
  }
}

function restAsk({ verb, path }: Route, request: JsonObject, ask: RestAsk) {
  const { headers = {}, version = "1.0", queryVersion, addressTenant, signal } = ask;
  const { tenant, ...rest } = request;
  const prefix = addressTenant ?? (typeof tenant === "string" ? tenant : "");
  const body: Record<string, JsonValue> = addressTenant === undefined ? rest : request;
  const left = { ...body };
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = left[name];
    delete left[name];
    return encodeURIComponent(String(value ?? ""));
  });
  const query = new URLSearchParams(verb === "POST" ? {} : queryOf(left));
  if (queryVersion !== undefined) query.set("A2A-Version", queryVersion);
  const search = query.size > 0 ? `?${query}` : "";
  return {
    method: verb,
    path: `${prefix === "" ? "" : `/${encodeURIComponent(prefix)}`}${filled}${search}`,
    headers: {
      accept: MEDIA_TYPE,
      ...(verb === "POST" ? { "content-type": MEDIA_TYPE } : {}),
      ...(version === null ? {} : { "a2a-version": version }),
      ...headers,
    },
    ...(verb === "POST" ? { body: JSON.stringify(left) } : {}),
    ...(signal ? { signal } : {}),
  };
}

function queryOf(fields: Record<string, JsonValue>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}

/** The error envelope of REST; `status` is the HTTP status, where there is one. */
export function restError(json: JsonValue, status: number | undefined): NeutralError {
  const { error } = json as { error?: unknown };
  assert.deepEqual(Object.keys(json as object), ["error"], "the envelope holds the error alone");
  const { code, status: name, message, details } = error as Status;
  if (status !== undefined) assert.equal(code, status, "the envelope states the HTTP status");
  return neutralError({ code: name, message, details: detailsFromJson(details), numbers: { http: code } });
}
