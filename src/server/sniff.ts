import type { Server as HttpServer } from "node:http";
import type { Http2Server } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { A2AError } from "../errors.js";
import { writeFault } from "./connection-faults.js";

/** First bytes of every HTTP/2 connection (RFC 9113, 3.4); no HTTP/1.1 method begins so. */
const PREFACE = "PRI";

/** What shares one port. */
export interface SharedPortOptions {
  /** The server that listens; under TLS an https server that offers `h2` and `http/1.1`. */
  readonly http1: HttpServer;
  /** Never listens itself, and is without TLS in both cases. */
  readonly http2: Http2Server;
  /** How long a new connection may take to show its first bytes. Milliseconds. */
  readonly timeoutMs: number;
}

/** The connections of a shared port. */
export interface SharedPort {
  /** Closes the connections that have not shown yet what they speak, and those of HTTP/1.1 that are not in `busy`. */
  closeIdle(busy: ReadonlySet<unknown>): void;
  /** Cuts every connection. */
  cut(): void;
}

/**
 * Gives each new connection of the HTTP/1.1 server to the server of its protocol: ALPN decides under TLS, the
 * first bytes otherwise. The HTTP/1.1 server goes on listening itself, since Node applies its time limits for
 * requests to the connections of listening servers only.
 */
export function sharePort({ http1, http2, timeoutMs }: SharedPortOptions): SharedPort {
  const all = new Set<Socket>();
  const undecided = new Set<Socket>();
  const plain = new Set<Socket>();
  const event = http1.listenerCount("secureConnection") > 0 ? "secureConnection" : "connection";
  const [listener] = http1.listeners(event) as [(this: HttpServer, socket: Socket) => void];

  // One function for all of them: `once` would leave five objects with each.
  function forget(this: Socket): void {
    all.delete(this);
    plain.delete(this);
  }
  const toHttp1 = (socket: Socket) => {
    plain.add(socket);
    if (socket instanceof TLSSocket) socket.on("close", forget);
    listener.call(http1, socket);
  };
  const toHttp2 = (socket: Socket) => {
    socket.allowHalfOpen = false; // else a client's FIN leaves its streams open until the next write
    http2.emit("connection", socket);
  };
  const sniff = (socket: Socket) => {
    undecided.add(socket);
    readFirst(socket, timeoutMs, (first) => {
      undecided.delete(socket);
      if (first === PREFACE) toHttp2(socket);
      else if (first !== undefined) toHttp1(socket);
    });
  };

  http1.off(event, listener as (socket: Socket) => void);
  http1.on("connection", (socket: Socket) => {
    all.add(socket);
    socket.on("close", forget);
  });
  http1.on(event, (socket: Socket) => {
    if (!(socket instanceof TLSSocket)) sniff(socket);
    else if (socket.alpnProtocol === "h2") toHttp2(socket);
    else toHttp1(socket);
  });

  return {
    closeIdle(busy) {
      for (const socket of undecided) socket.destroy();
      for (const socket of plain) if (!busy.has(socket)) socket.destroySoon();
    },
    cut() {
      for (const socket of all) socket.destroy();
    },
  };
}

/** Calls back once: with the first bytes, left in the socket, or with undefined when it closed without. */
function readFirst(socket: Socket, timeoutMs: number, decide: (first: string | undefined) => void): void {
  const settle = (first: string | undefined) => {
    clearTimeout(timer);
    socket.off("readable", look).off("end", fail).off("error", fail).off("close", close);
    decide(first);
  };
  // Null until all three bytes are there, or fewer when the client ends before.
  const look = () => {
    const bytes: Buffer | null = socket.read(PREFACE.length);
    if (bytes === null) return;
    socket.unshift(bytes);
    settle(bytes.toString("latin1"));
  };
  const fail = () => socket.destroy();
  const close = () => settle(undefined);
  const late = () => {
    if (socket.readableLength > 0) writeFault(socket, new A2AError("REQUEST_TIMEOUT"));
    else socket.destroy();
  };
  const timer = setTimeout(late, timeoutMs);
  socket.on("readable", look).on("end", fail).on("error", fail).on("close", close);
}
