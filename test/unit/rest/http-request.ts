import type { HttpBinding, HttpRequest, HttpResponse } from "../../../src/bindings/http.js";

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly httpVersion?: 1 | 2;
  readonly signal?: AbortSignal;
}

/** A request that needs no socket, from its first line: `GET /tasks`. */
export function httpRequest(line: string, sent: Sent = {}): HttpRequest {
  const space = line.indexOf(" ");
  const { headers = {}, body, httpVersion = 1, signal = new AbortController().signal } = sent;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  return {
    method: line.slice(0, space),
    target: line.slice(space + 1),
    headers: { ...length, ...headers },
    httpVersion,
    signal,
    async *body() {
      if (body !== undefined) yield Buffer.from(body);
    },
  };
}

/** The binding's answer; fails when it does not take the request. */
export async function ask(binding: HttpBinding, line: string, sent?: Sent): Promise<HttpResponse> {
  const answer = binding(httpRequest(line, sent));
  if (answer === undefined) throw new Error(`nobody takes ${line}`);
  return answer;
}

/** All of a body as text. */
export async function bodyText({ body = "" }: HttpResponse): Promise<string> {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8");
  let text = "";
  for await (const piece of body)
    text += typeof piece === "string" ? piece : Buffer.from(piece).toString("utf8");
  return text;
}

/** The error in an envelope. */
export async function errorOf(response: HttpResponse): Promise<Record<string, unknown>> {
  return (JSON.parse(await bodyText(response)) as { error: Record<string, unknown> }).error;
}
