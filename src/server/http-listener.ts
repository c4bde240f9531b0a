import type { HttpBinding, HttpResponse } from "../bindings/http.js";
import { A2AError } from "../errors.js";
import { Roster } from "../protocol/registry.js";
import { toRestBody } from "../protocol/status.js";
import { type CorsOptions, createCors, isPreflight } from "./cors.js";
import type { HttpLimits } from "./http-limits.js";
import { createRoutes, type Mount, offer } from "./http-routes.js";
import { Exchange, type NodeRequest, type NodeResponse, type RequestListener } from "./node-request.js";
import { writeResponse } from "./node-response.js";
import { closeWithConnection } from "./queued.js";

/** Who answers the requests of an HTTP port. */
export interface HttpListenerOptions {
  /** Asked in order; the first that takes a request answers it. */
  readonly bindings: readonly HttpBinding[];
  /** Looked at before the bindings. */
  readonly mounts?: readonly Mount[];
  /**
   * Who serves what no binding takes: card, health, metrics, documents. Asked for once, when the first such request
   * arrives. Unset: nothing else is there.
   */
  readonly pages?: () => Promise<RequestListener>;
  /** Default: no page of another origin may read answers. */
  readonly cors?: CorsOptions;
  /** Told of faults that are ours, with their cause. Default: nobody. */
  report?(error: A2AError): void;
}

/** A port's requests, and those of them that are still in flight. */
export interface HttpListener {
  readonly serve: RequestListener;
  /** From now on an HTTP/1.1 connection closes after its answer. */
  drain(): void;
  /** Sockets of HTTP/1.1 that have an answer outstanding. */
  busy(): ReadonlySet<unknown>;
  /** Aborts every open call. */
  interrupt(reason: A2AError): void;
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>;
}

type Answer = (req: NodeRequest, res: NodeResponse, pending: Promise<HttpResponse>) => void;

/** Answers each request: mounts, then bindings, then pages. */
export function createHttpListener(options: HttpListenerOptions, limits: HttpLimits): HttpListener {
  const { report = () => undefined } = options;
  const cors = createCors(options.cors);
  const route = createRoutes(options.bindings, options.mounts ?? []);
  const open = createOpenExchanges();
  const extraHeaders = (req: NodeRequest) => {
    const extra = cors.headersFor(req);
    return open.draining() && req.httpVersionMajor === 1 ? { ...extra, connection: "close" } : extra;
  };
  const answer = createAnswer(extraHeaders, report);
  let pages: Promise<RequestListener> | undefined;

  const serve: RequestListener = (req, res) => {
    const { target, bindings } = route(req.url ?? "");
    const exchange = new Exchange(req, target, limits.requestTimeoutMs);
    open.add(exchange, res);
    closeWithConnection(req, res);
    const own = beyondLimits(req, target, limits) ?? offer(bindings, exchange);
    if (cors.enabled && isPreflight(req)) {
      answer(
        req,
        res,
        Promise.resolve(own).then((found) => cors.preflight(req, found)),
      );
    } else if (own !== undefined) {
      answer(req, res, own);
    } else if (options.pages === undefined) {
      answer(req, res, NO_ROUTE);
    } else {
      pages ??= options.pages();
      pages
        .then((show) => {
          for (const [name, value] of Object.entries(extraHeaders(req))) res.setHeader(name, value);
          show(req, res);
        })
        .catch((thrown) => answer(req, res, Promise.reject(thrown)));
    }
  };
  return { serve, drain: open.drain, busy: open.busy, interrupt: open.interrupt, idle: open.idle };
}

function createAnswer(
  extraHeaders: (req: NodeRequest) => Readonly<Record<string, string>>,
  report: (error: A2AError) => void,
): Answer {
  return (req, res, pending) => {
    const write = (response: HttpResponse) =>
      writeResponse(req, res, withHeaders(response, extraHeaders(req)), fail);
    const fail = (thrown: unknown) => {
      const error = A2AError.from(thrown);
      report(error);
      if (!res.headersSent) write(refusal(error));
    };
    pending.then(write).catch(fail);
  };
}

type OpenExchanges = Omit<HttpListener, "serve"> & {
  add(exchange: Exchange, res: NodeResponse): void;
  draining(): boolean;
};

function createOpenExchanges(): OpenExchanges {
  const open = new Roster<Exchange>();
  const waiting: (() => void)[] = [];
  let draining = false;
  return {
    add(exchange, res) {
      const place = open.add(exchange);
      res.on("close", () => {
        if (!res.writableEnded) exchange.abort(); // once all is handed over, who leaves takes nothing back
        open.remove(place);
        if (draining) exchange.socket?.destroySoon();
        if (open.size === 0) for (const wake of waiting.splice(0)) wake();
      });
    },
    draining: () => draining,
    drain() {
      draining = true;
    },
    busy() {
      return new Set(open.members().map(({ socket }) => socket));
    },
    interrupt(reason) {
      for (const exchange of open.members()) exchange.abort(reason);
    },
    idle: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

function refusal(error: A2AError): HttpResponse {
  return {
    status: error.row.http,
    headers: { ...error.headers, "content-type": "application/json" },
    body: toRestBody(error),
  };
}

const NO_ROUTE = Promise.resolve(refusal(new A2AError("NO_ROUTE")));
const TARGET_TOO_LONG = Promise.resolve(refusal(new A2AError("TARGET_TOO_LONG")));
const HEADERS_TOO_LARGE = Promise.resolve(refusal(new A2AError("HEADERS_TOO_LARGE")));

/** The size of a request head is checked by Node for HTTP/1.1; for HTTP/2 it only tells clients the limit. */
function beyondLimits(
  req: NodeRequest,
  target: string,
  limits: HttpLimits,
): Promise<HttpResponse> | undefined {
  if (target.length > limits.targetBytes) return TARGET_TOO_LONG;
  if (req.httpVersionMajor === 1) return undefined;
  const bytes = req.rawHeaders.reduce((sum, text) => sum + text.length, 0);
  return bytes > limits.headerBytes ? HEADERS_TOO_LARGE : undefined;
}

function withHeaders(response: HttpResponse, extra: Readonly<Record<string, string>>): HttpResponse {
  if (Object.keys(extra).length === 0) return response;
  const headers = { ...response.headers, ...extra };
  const { vary } = response.headers;
  if (vary !== undefined && extra.vary !== undefined) headers.vary = `${String(vary)}, ${extra.vary}`;
  return { ...response, headers };
}
