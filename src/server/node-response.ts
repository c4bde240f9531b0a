import { type ServerResponse, validateHeaderValue } from "node:http";
import { constants } from "node:http2";
import type { HttpResponse } from "../bindings/http.js";
import type { NodeRequest, NodeResponse } from "./node-request.js";

type Pieces = Exclude<HttpResponse["body"], string | Uint8Array | undefined>;
type Whole = Exclude<HttpResponse["body"], Pieces>;

/** Pieces of one body that are written before other connections get a turn; a piece may hold several events. */
const BURST = 4;

/**
 * Writes a response, with backpressure. Settles when all of it is handed to Node or the client has left (at once,
 * without a promise, when the body is whole); a body in pieces is then closed (`return`) if it had not ended.
 * Fails when a header is not valid or when the body fails; after the head the connection (HTTP/2: the stream) is
 * broken off, so that nobody takes it for complete.
 */
export function writeResponse(
  req: NodeRequest,
  res: NodeResponse,
  response: HttpResponse,
): void | Promise<void> {
  const { body } = response;
  const silent = req.method === "HEAD" || isBodiless(response);
  if (!isPieces(body)) return writeWhole(res, response, body, silent);
  if (!silent && !isGone(res)) return writePieces(res, response, body[Symbol.asyncIterator]());
  writeWhole(res, response, undefined, true);
  return closePieces(body);
}

async function closePieces(body: Pieces): Promise<void> {
  await body[Symbol.asyncIterator]().return?.();
}

/** Small answers leave in one go: head and body are one write. */
function writeWhole(res: NodeResponse, response: HttpResponse, body: Whole, silent: boolean): void {
  if (isGone(res)) return;
  // Not a spread copy: what is added to one gives it a hidden class of its own, which costs more than the rest of this.
  const headers: Record<string, string | readonly string[]> = Object.assign({}, response.headers);
  const lengthless =
    response.trailers !== undefined || isBodiless(response) || (silent && body === undefined);
  if (!lengthless) {
    headers["content-length"] = String(body === undefined ? 0 : Buffer.byteLength(body));
  }
  const sink = writeHead(res, response.status, headers);
  addTrailers(res, response);
  sink.end(silent ? undefined : body);
}

async function writePieces(
  res: NodeResponse,
  response: HttpResponse,
  pieces: AsyncIterator<string | Uint8Array>,
): Promise<void> {
  const leave = () => {
    pieces.return?.().catch(ignore); // a body that fails while it is closed has nobody left to tell
  };
  res.once("close", leave).on("error", ignore);
  try {
    const sink = writeHead(res, response.status, response.headers);
    sink.flushHeaders();
    await pump(res, sink, pieces);
    if (isGone(res)) return leave();
    addTrailers(res, response);
    sink.end();
  } catch (thrown) {
    leave();
    if (res.headersSent) breakOff(res);
    throw thrown;
  } finally {
    res.off("close", leave);
  }
}

async function pump(
  res: NodeResponse,
  sink: ServerResponse,
  pieces: AsyncIterator<string | Uint8Array>,
): Promise<void> {
  for (let count = 1; ; count++) {
    const step = await pieces.next();
    if (step.done || isGone(res)) return;
    if (!sink.write(step.value)) await drained(res);
    else if (count % BURST === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A full buffer is no disconnect: waits until it is empty, or the client has left. */
function drained(res: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      res.off("drain", settle).off("close", settle);
      resolve();
    };
    res.on("drain", settle).on("close", settle);
  });
}

function isBodiless({ status }: HttpResponse): boolean {
  return status === 204 || status === 304;
}

/** Node's HTTP/2 response has every method of the HTTP/1.1 one that is used here; only its types differ. */
function writeHead(res: NodeResponse, status: number, headers: HttpResponse["headers"]): ServerResponse {
  if ("stream" in res) validate(headers); // Node itself checks values over HTTP/1.1 only
  return (res as ServerResponse).writeHead(status, headers as Record<string, string | string[]>);
}

function addTrailers(res: NodeResponse, { trailers }: HttpResponse): void {
  if (trailers === undefined) return;
  const fields = trailers();
  if ("stream" in res) validate(fields);
  res.addTrailers(fields);
}

function validate(headers: HttpResponse["headers"]): void {
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) validateHeaderValue(name, one);
  }
}

function isGone(res: NodeResponse): boolean {
  return "stream" in res ? res.stream.destroyed || res.stream.closed : res.destroyed;
}

function breakOff(res: NodeResponse): void {
  if ("stream" in res) res.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else res.destroy();
}

function isPieces(body: HttpResponse["body"]): body is Pieces {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

function ignore(): void {}
