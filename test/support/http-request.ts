import type { HttpHeaders, HttpRequest, HttpResponse } from "../../src/bindings/http.js";
import { callerOf } from "./caller.js";

interface RequestInit {
  readonly method?: string;
  readonly headers?: HttpHeaders;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
}

/** A request without a socket. */
export function httpRequest(target: string, init: RequestInit = {}): HttpRequest {
  const { method = "POST", headers = {}, body = "", signal = new AbortController().signal } = init;
  return { method, target, headers, httpVersion: 1, caller: callerOf(signal), body: () => pieces(body) };
}

async function* pieces(body: NonNullable<RequestInit["body"]>): AsyncGenerator<Uint8Array, void> {
  if (typeof body === "string") body = Buffer.from(body);
  if (!(body instanceof Uint8Array)) yield* body;
  else if (body.byteLength > 0) yield body;
}

/** The whole body of a response. */
export async function bodyText({ body = "" }: HttpResponse): Promise<string> {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  let text = "";
  for await (const piece of body) text += typeof piece === "string" ? piece : Buffer.from(piece).toString();
  return text;
}
