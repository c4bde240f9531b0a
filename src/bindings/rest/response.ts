import { constants } from "node:zlib";
import type { Message } from "@bufbuild/protobuf";
import type { ReplyHeaders, Traffic } from "../../core/context.js";
import type { A2AError } from "../../errors.js";
import { toRestBody } from "../../protocol/status.js";
import { compress, isWorthGzip } from "../gzip.js";
import { type HttpRequest, type HttpResponse, parametersOf } from "../http.js";
import { acceptsGzip, answerTypeOf } from "./negotiate.js";
import { responseBodyOf } from "./response-body.js";
import type { Route } from "./routes.js";

/** What an answer needs to know about its call. */
export interface Answering {
  readonly request: HttpRequest;
  readonly traffic: Traffic;
}

/** The answer to a unary call. */
export async function unaryResponse(
  route: Route,
  message: Message,
  { request, traffic, headers }: Answering & { readonly headers: ReplyHeaders },
): Promise<HttpResponse> {
  const parameters = parametersOf(request.headers);
  const found = responseBodyOf(route, message);
  if (found.kind === "raw") {
    traffic.sent = found.bytes.byteLength;
    return { status: 200, headers: { ...headers, "content-type": found.contentType }, body: found.bytes };
  }
  traffic.sent = Buffer.byteLength(found.text);
  const typed = Object.assign({}, headers, {
    "content-type": answerTypeOf(parameters("accept"), parameters("content-type")),
    vary: "accept, accept-encoding",
  });
  if (!isWorthGzip(traffic.sent) || !acceptsGzip(parameters("accept-encoding"))) {
    return { status: 200, headers: typed, body: found.text };
  }
  const body = await compress(found.text, constants.Z_BEST_SPEED);
  traffic.sent = body.byteLength;
  return { status: 200, headers: { ...typed, "content-encoding": "gzip" }, body };
}

/** The answer to a call that failed before anything of it was sent. */
export function errorResponse(error: A2AError, { request, traffic }: Answering): HttpResponse {
  const parameters = parametersOf(request.headers);
  const body = toRestBody(error);
  traffic.sent = Buffer.byteLength(body);
  const retryAfter =
    error.retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(error.retryAfterMs / 1000)) };
  const type = answerTypeOf(parameters("accept"), parameters("content-type"));
  return { status: error.row.http, headers: { ...error.headers, ...retryAfter, "content-type": type }, body };
}

/** The answer to OPTIONS. */
export function optionsResponse(allow: string): HttpResponse {
  return { status: 204, headers: { allow } };
}

/** The head of an answer alone, for HEAD. A stream's reader is ended. */
export async function headOf({ status, headers, body }: HttpResponse): Promise<HttpResponse> {
  if (typeof body === "object" && Symbol.asyncIterator in body) {
    await body[Symbol.asyncIterator]().return?.();
    return { status, headers };
  }
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  return { status, headers: { ...headers, ...length } };
}
