import { A2AError } from "../../errors.js";
import { compress, isWorthGzip } from "../gzip.js";
import type { HttpResponse } from "../http.js";
import type { Outgoing } from "./codec.js";
import type { Compression } from "./compression.js";
import { errorHeaders, toConnectJson } from "./failure.js";
import { type Opened, type Opening, open } from "./opening.js";

/** Answers a Connect unary call: each body is one message. */
export async function answerUnary(opening: Opening): Promise<HttpResponse> {
  let opened: Opened | undefined;
  try {
    opened = open(opening);
    return await opened.within(answer(opening, opened));
  } catch (thrown) {
    return connectFailure(A2AError.from(thrown));
  } finally {
    opened?.close();
  }
}

async function answer({ endpoint, format }: Opening, opened: Opened): Promise<HttpResponse> {
  const { call, requests, compression } = opened;
  const answer = await endpoint.answer(requests, call);
  const message = answer.kind === "unary" ? answer.message : await first(answer.messages);
  const bytes = format.codec.encode(endpoint.method.output, message);
  call.traffic.sent = bytes.byteLength;
  return pack(bytes, { ...answer.headers, "content-type": format.mediaType }, compression);
}

async function first(messages: AsyncIterable<Outgoing>): Promise<Outgoing> {
  for await (const message of messages) return message;
  throw new A2AError("INTERNAL", { cause: new Error("a unary method gave no answer") });
}

async function pack(
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>,
  compression: Compression,
): Promise<HttpResponse> {
  const varying = { ...headers, vary: "accept-encoding" };
  if (!compression.response || !isWorthGzip(bytes.byteLength))
    return { status: 200, headers: varying, body: bytes };
  const body = await compress(bytes);
  return { status: 200, headers: { ...varying, "content-encoding": "gzip" }, body };
}

/** An error of a unary call, with the HTTP status of its row. */
export function connectFailure(error: A2AError): HttpResponse {
  return {
    status: error.row.http,
    headers: { ...errorHeaders(error), "content-type": "application/json" },
    body: JSON.stringify(toConnectJson(error)),
  };
}
