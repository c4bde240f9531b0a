import type { Parameters } from "../core/context.js";
import type { Caller } from "../protocol/ending.js";

/** Header values by name in lower case, as Node gives them. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One HTTP request, whatever the HTTP version. Plain data: the raw target is never rewritten. */
export interface HttpRequest {
  readonly method: string;
  /** The raw request target, mount prefix already taken off. */
  readonly target: string;
  readonly headers: HttpHeaders;
  readonly httpVersion: 1 | 2;
  /** Aborts when the client goes away. */
  readonly caller: Caller;
  /** The body in pieces, read once, as the client pulls. */
  body(): AsyncIterable<Uint8Array>;
}

/** One HTTP response. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Text, bytes, or pieces that are written as they come, with backpressure. Absent: no body. */
  readonly body?: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** Trailers, asked for once the body has ended. */
  readonly trailers?: () => Readonly<Record<string, string>>;
}

/** A binding over HTTP decides from method and raw target, before it touches the body, whether the request is its own. */
export type HttpBinding = (request: HttpRequest) => Promise<HttpResponse> | undefined;

/** The path part of a raw target. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  return query < 0 ? target : target.slice(0, query);
}

/** Header look-up for a call context. */
export function parametersOf(headers: HttpHeaders): Parameters {
  return (name) => {
    const value = headers[name];
    return typeof value === "string" || value === undefined ? value : value.join(", ");
  };
}
