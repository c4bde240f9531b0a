import { create, type Message } from "@bufbuild/protobuf";
import type { HttpBinding, HttpRequest, HttpResponse } from "../../../src/bindings/http.js";
import type { Call, Reply } from "../../../src/core/context.js";
import { eventsThen } from "../../support/fake-dispatcher.js";
import { bodyText, httpRequest } from "../../support/http-request.js";

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** A request by its first line: `GET /tasks`. */
export function requestOf(line: string, sent: Sent = {}): HttpRequest {
  const space = line.indexOf(" ");
  const { headers = {}, body } = sent;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const method = line.slice(0, space);
  return httpRequest(line.slice(space + 1), { ...sent, method, headers: { ...length, ...headers } });
}

/** The binding's answer; fails when it does not take the request. */
export async function ask(binding: HttpBinding, line: string, sent?: Sent): Promise<HttpResponse> {
  const answer = binding(requestOf(line, sent));
  if (answer === undefined) throw new Error(`nobody takes ${line}`);
  return answer;
}

/** The error in an envelope. */
export async function errorOf(response: HttpResponse): Promise<Record<string, unknown>> {
  return (JSON.parse(await bodyText(response)) as { error: Record<string, unknown> }).error;
}

/** Answers any call with nothing in it. */
export function emptyReply({ method }: Call): Reply {
  if (method.methodKind === "unary") return unaryReply(create(method.output));
  return { kind: "stream", events: eventsThen([]), headers: {} };
}

export function unaryReply(message: Message, headers: Record<string, string> = {}): Reply {
  return { kind: "unary", message, headers };
}
