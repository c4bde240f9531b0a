import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Socket } from "node:net";
import type { HttpHeaders, HttpRequest } from "../bindings/http.js";
import type { A2AError } from "../errors.js";
import { CallEnding, type Caller } from "../protocol/ending.js";
import { BodyPieces } from "./node-body.js";

/** A request as Node gives it, of either HTTP version. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;

/** A response as Node takes it, of either HTTP version. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Listener for requests of either HTTP version. */
export type RequestListener = (req: NodeRequest, res: NodeResponse) => void;

/** One request in flight. A class, because this is made for every request. */
export class Exchange extends CallEnding implements HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HttpHeaders;
  readonly httpVersion: 1 | 2;
  readonly #req: NodeRequest;
  readonly #requestTimeoutMs: number;

  /**
   * @param target The target that bindings see: as it was sent, less a mount prefix.
   * @param requestTimeoutMs How long a request over HTTP/2 may take to arrive; HTTP/1.1 is watched by Node itself.
   */
  constructor(req: NodeRequest, target: string, requestTimeoutMs: number) {
    super();
    this.method = req.method ?? "";
    this.target = target;
    this.headers = req.headers;
    this.httpVersion = req.httpVersionMajor === 2 ? 2 : 1;
    this.#req = req;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  get caller(): Caller {
    return this;
  }

  /** Of a request over HTTP/1.1, which has it for itself. */
  get socket(): Socket | undefined {
    return "stream" in this.#req ? undefined : this.#req.socket;
  }

  body(): AsyncIterable<Uint8Array> {
    const req = this.#req;
    return "stream" in req ? new BodyPieces(req.stream, this.#requestTimeoutMs) : new BodyPieces(req);
  }

  /** The client has left, or, with a reason, the call is ended from our side and answered with it. */
  abort(reason?: A2AError): void {
    this.endNow(reason);
  }
}
