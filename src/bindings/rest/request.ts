import type { Message } from "@bufbuild/protobuf";
import type { Traffic } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { readBody } from "../body.js";
import { type HttpRequest, parametersOf } from "../http.js";
import { isJsonType } from "./negotiate.js";
import { takesRawBody } from "./request-body.js";
import type { Match } from "./transcoder.js";

/** The request message of a matched request. Throws A2AError for a body that cannot be it. */
export async function readMessage(
  match: Match,
  request: HttpRequest,
  options: { readonly maxBytes: number; readonly traffic: Traffic },
): Promise<Message> {
  const decoded = match.decode(await bodyOf(match, request, options));
  if (decoded.kind === "failure") throw decoded.error;
  return decoded.message;
}

async function bodyOf(
  { route }: Match,
  request: HttpRequest,
  { maxBytes, traffic }: { readonly maxBytes: number; readonly traffic: Traffic },
) {
  if (route.body.kind === "none") {
    await drain(request);
    return undefined;
  }
  const contentType = parametersOf(request.headers)("content-type");
  const bytes = await readBody(request, { maxBytes });
  traffic.received = bytes.byteLength;
  // Many clients state a type, any type, on requests that have no body.
  if (bytes.byteLength > 0 && !takesRawBody(route) && !isJsonType(contentType)) {
    throw new A2AError("MEDIA_TYPE_NOT_SUPPORTED", {
      text: "The body's media type is not supported. Send application/a2a+json or application/json, in UTF-8.",
    });
  }
  return { bytes, contentType };
}

/** Gives up a body that nobody reads: what is left of it is then read and dropped beside the call. */
async function drain(request: HttpRequest): Promise<void> {
  if (mayHaveBody(request)) await request.body()[Symbol.asyncIterator]().return?.();
}

function mayHaveBody({ method, headers, httpVersion }: HttpRequest): boolean {
  const length = headers["content-length"];
  if (length !== undefined || headers["transfer-encoding"] !== undefined) return length !== "0";
  return httpVersion === 2 && !["GET", "HEAD", "DELETE"].includes(method);
}
