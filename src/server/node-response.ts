import { type ServerResponse, validateHeaderValue } from "node:http";
import { constants } from "node:http2";
import type { HttpResponse } from "../bindings/http.js";
import type { NodeRequest, NodeResponse } from "./node-request.js";

type Pieces = Exclude<HttpResponse["body"], string | Uint8Array | undefined>;
type Whole = Exclude<HttpResponse["body"], Pieces>;

/**
 * Writes a response. A body in pieces is written with backpressure, and closed (`return`) when the client leaves before
 * it has ended. `failed` is told, at most once, that a header is not valid (of a whole body the call itself throws
 * that) or that the body failed; after the head the connection (HTTP/2: the stream) is broken off, so that nobody takes
 * the answer for complete.
 */
export function writeResponse(
  req: NodeRequest,
  res: NodeResponse,
  response: HttpResponse,
  failed: (thrown: unknown) => void,
): void {
  const { body } = response;
  const silent = req.method === "HEAD" || isBodiless(response);
  if (!isPieces(body)) {
    writeWhole(res, response, body, silent);
    return;
  }
  const pieces = body[Symbol.asyncIterator]();
  if (!silent && !isGone(res)) {
    new PieceWriter({ res, pieces, trailers: response.trailers, failed }).start(response);
    return;
  }
  writeWhole(res, response, undefined, true);
  pieces.return?.().catch(failed);
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
  addTrailers(res, response.trailers);
  sink.end(silent ? undefined : body);
}

function isBodiless({ status }: HttpResponse): boolean {
  return status === 204 || status === 304;
}

/** Node's HTTP/2 response has every method of the HTTP/1.1 one that is used here; only its types differ. */
function writeHead(res: NodeResponse, status: number, headers: HttpResponse["headers"]): ServerResponse {
  if ("stream" in res) validate(headers); // Node itself checks values over HTTP/1.1 only
  return (res as ServerResponse).writeHead(status, headers as Record<string, string | string[]>);
}

function addTrailers(res: NodeResponse, trailers: HttpResponse["trailers"]): void {
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

interface PieceWriterOptions {
  readonly res: NodeResponse;
  readonly pieces: AsyncIterator<string | Uint8Array>;
  readonly trailers: HttpResponse["trailers"];
  readonly failed: (thrown: unknown) => void;
}

/** Pieces of one body that are written before other connections get a turn; a piece may hold several events. */
const BURST = 4;

/**
 * Writes a body piece by piece. It is called back rather than an async function, which would keep two suspended frames
 * with every open stream.
 */
class PieceWriter {
  readonly #options: PieceWriterOptions;
  #written = 0;
  readonly #leave = (): void => {
    this.#options.pieces.return?.().catch(ignore); // a body that fails while it is closed has nobody left to tell
  };
  readonly #came = (step: IteratorResult<string | Uint8Array>): void => {
    try {
      if (step.done || isGone(this.#options.res)) this.#end();
      else this.#write(step.value);
    } catch (thrown) {
      this.#fail(thrown);
    }
  };
  readonly #fail = (thrown: unknown): void => {
    const { res, failed } = this.#options;
    res.off("close", this.#leave);
    this.#leave();
    if (res.headersSent) breakOff(res);
    failed(thrown);
  };

  constructor(options: PieceWriterOptions) {
    this.#options = options;
  }

  start({ status, headers }: HttpResponse): void {
    const { res } = this.#options;
    res.on("close", this.#leave).on("error", ignore);
    try {
      writeHead(res, status, headers).flushHeaders();
    } catch (thrown) {
      this.#fail(thrown);
      return;
    }
    this.#pull();
  }

  #pull(): void {
    this.#options.pieces.next().then(this.#came, this.#fail);
  }

  #write(piece: string | Uint8Array): void {
    this.#written += 1;
    if (!(this.#options.res as ServerResponse).write(piece)) this.#pullWhenDrained();
    else if (this.#written % BURST === 0) setImmediate(() => this.#pull());
    else this.#pull();
  }

  /** A full buffer is no disconnect: waits until it is empty, or the client has left. */
  #pullWhenDrained(): void {
    const { res } = this.#options;
    const goOn = () => {
      res.off("drain", goOn).off("close", goOn);
      this.#pull();
    };
    res.on("drain", goOn).on("close", goOn);
  }

  #end(): void {
    const { res, trailers } = this.#options;
    res.off("close", this.#leave);
    if (isGone(res)) {
      this.#leave();
      return;
    }
    addTrailers(res, trailers);
    res.end();
  }
}

function isPieces(body: HttpResponse["body"]): body is Pieces {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

function ignore(): void {}
