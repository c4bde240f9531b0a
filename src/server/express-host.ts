import { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import express, {
  type Application,
  type ErrorRequestHandler,
  type RequestHandler,
  type Router,
} from "express";
import { A2AError } from "../errors.js";
import { toRestBody } from "../protocol/status.js";
import type { RequestListener } from "./node-request.js";

/** What Express hosts. */
export interface ExpressHostOptions {
  /** Looked at in order. What none of them answers is NO_ROUTE. */
  readonly routers: readonly Router[];
  /** Told of errors that a route threw and that are not the caller's fault. */
  report(error: A2AError): void;
}

/**
 * Serves Express routes over HTTP/1.1 and HTTP/2. Express replaces the prototypes of request and response by
 * ones made for HTTP/1.1, which crashes on an HTTP/2 request: a second application with the same router has
 * prototypes grafted onto Node's HTTP/2 classes. Errors are our envelope, never Express's HTML.
 */
export function createExpressHost(options: ExpressHostOptions): RequestListener {
  const router = express.Router();
  router.use(...options.routers, notFound, failed(options.report));
  const http1 = createApplication(router);
  const http2 = createApplication(router);
  graft(http2, "request", Http2ServerRequest.prototype);
  graft(http2, "response", Http2ServerResponse.prototype);
  // Express only knows the HTTP/1.1 types; the second application is made for the others.
  return (req, res) => (req.httpVersionMajor === 2 ? http2 : http1)(req as never, res as never);
}

function createApplication(router: Router): Application {
  return express().disable("x-powered-by").use(router);
}

function graft(app: Application, name: "request" | "response", prototype: object): void {
  const methods = Object.create(prototype, Object.getOwnPropertyDescriptors(express[name]));
  const own = { configurable: true, enumerable: true, writable: true, value: app };
  Object.assign(app, { [name]: Object.create(methods, { app: own }) });
}

const notFound: RequestHandler = (_req, _res, next) => next(new A2AError("NO_ROUTE"));

function failed(report: (error: A2AError) => void): ErrorRequestHandler {
  return (thrown, req, res, _next) => {
    const error = errorOf(thrown);
    if (error.row.http >= 500) report(error);
    if (res.headersSent) {
      res.destroy();
      return;
    }
    const body = toRestBody(error);
    const length = String(Buffer.byteLength(body));
    res
      .writeHead(error.row.http, {
        ...error.headers,
        "content-type": "application/json",
        "content-length": length,
      })
      .end(req.method === "HEAD" ? undefined : body);
  };
}

/** Express and its parsers mark what the caller did wrong with a status below 500 (a bad escape in the path). */
function errorOf(thrown: unknown): A2AError {
  const { status } = Object(thrown) as { readonly status?: unknown };
  const callers =
    !(thrown instanceof A2AError) && typeof status === "number" && status >= 400 && status < 500;
  return callers ? new A2AError("INVALID_ARGUMENT", { cause: thrown }) : A2AError.from(thrown);
}
