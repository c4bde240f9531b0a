import { createServer as createHttp1, type Server as Http1Server } from "node:http";
import { createServer as createHttp2, type Http2Server } from "node:http2";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, Server as NetServer } from "node:net";
import { A2AError } from "../errors.js";
import { refuseConnection } from "./connection-faults.js";
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from "./http-limits.js";
import { createHttpListener, type HttpListenerOptions } from "./http-listener.js";
import { watchSessions } from "./http2-sessions.js";
import type { RequestListener } from "./node-request.js";
import { endCalls, FAREWELL_MS, settles } from "./settles.js";
import { sharePort } from "./sniff.js";
import { renewTls, type ServerTls, toTlsOptions } from "./tls.js";

/** One HTTP port. */
export interface HttpHostOptions extends HttpListenerOptions {
  /** Certificate and key. Unset: cleartext, HTTP/1.1 and h2c. Set: TLS 1.2 and later, ALPN `h2` and `http/1.1`. */
  readonly tls?: ServerTls;
  readonly limits?: Partial<HttpLimits>;
}

/** The HTTP port of a gateway. */
export interface HttpHost {
  /** Rejects with Node's own error when the address cannot be had (`EADDRINUSE`, `EACCES`). Port 0: any free one. */
  listen(port: number, host: string): Promise<AddressInfo>;
  /** The listener for requests, for a server of one's own: `http.createServer(host.serve)`. */
  readonly serve: RequestListener;
  /** Gives new connections this certificate; see `renewTls`. */
  renew(tls: ServerTls): void;
  /**
   * Closes idle connections, tells the others (`connection: close`, GOAWAY), and gives open calls this long. After
   * that their signals abort with UNAVAILABLE; what is still open a second later is cut. Until all have ended the
   * port goes on answering new connections, so that probes see what is going on and calls hear a reason: whoever
   * answers the calls refuses them. Resolves when all connections are closed.
   */
  drain(graceMs: number): Promise<void>;
  /** Cuts everything at once. */
  close(): Promise<void>;
}

/** HTTP/1.1 and HTTP/2 on one port: bindings first, Express for the rest. */
export function createHttpHost(options: HttpHostOptions): HttpHost {
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const listener = createHttpListener(options, limits);
  const http1 = createHttp1Server(options, limits, listener.serve);
  const http2 = createHttp2Server(limits, listener.serve);
  const sessions = watchSessions(http2, {
    helloMs: limits.headersTimeoutMs,
    idleMs: limits.idleTimeoutMs * 10,
  });
  const port = sharePort({ http1, http2, timeoutMs: limits.headersTimeoutMs });
  const stop = async () => {
    const closed = stopListening(http1);
    closeIdle();
    await closed;
    await listener.idle(); // of a server of one's own
  };
  const closeIdle = () => {
    port.closeIdle(listener.busy());
    sessions.drain();
  };
  const cut = async () => {
    sessions.cut();
    await new Promise((resolve) => setImmediate(resolve)); // what they say last leaves in this turn
    port.cut();
  };
  return {
    listen: (number, host) => listen(http1, number, host, options.report),
    serve: listener.serve,
    renew: (tls) => renewTls(http1, tls),
    async drain(graceMs) {
      listener.drain();
      closeIdle();
      const ended = await endCalls(listener, graceMs);
      const stopped = stop();
      if (ended && (await settles(stopped, FAREWELL_MS))) return;
      await cut();
      await settles(stopped, FAREWELL_MS);
    },
    async close() {
      const stopped = stop();
      await cut();
      await settles(stopped, FAREWELL_MS);
    },
  };
}

function createHttp1Server(
  { tls }: HttpHostOptions,
  limits: HttpLimits,
  serve: RequestListener,
): Http1Server {
  const options = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    keepAlive: true, // of TCP: finds clients that are gone without a word
  };
  const secure = { ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: limits.headersTimeoutMs };
  const server = tls
    ? createHttps({ ...options, ...secure, ...toTlsOptions(tls) }, serve)
    : createHttp1(options, serve);
  return server.on("clientError", refuseConnection);
}

/** Against resets in quick succession and floods of pings nghttp2 has limits of its own (1000, then 33 a second). */
function createHttp2Server(limits: HttpLimits, serve: RequestListener): Http2Server {
  return createHttp2(
    {
      maxSessionMemory: limits.connectionMegabytes,
      settings: {
        maxConcurrentStreams: limits.streamsPerConnection,
        maxHeaderListSize: limits.headerBytes,
      },
    },
    serve,
  );
}

function listen(
  server: Http1Server,
  port: number,
  host: string,
  report: HttpListenerOptions["report"],
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      server.on("error", (cause) => report?.(new A2AError("INTERNAL", { cause }))); // a connection that could not be accepted
      resolve(server.address() as AddressInfo);
    });
  });
}

/** Unlike http.Server.close this leaves idle connections alone: Node's also cuts answers that are not flushed yet. */
function stopListening(server: Http1Server): Promise<void> {
  return new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => {
      server.close(); // stops Node's look-out for late requests
      resolve();
    });
  });
}
