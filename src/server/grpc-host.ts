import { type AddressInfo, createServer, type Server as NetServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { GrpcBinding } from "../bindings/grpc/index.js";
import { endCalls, FAREWELL_MS, settles } from "./settles.js";
import { renewTls, type ServerTls, toTlsOptions } from "./tls.js";

/** Where a port is opened. */
export interface GrpcAddress {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

/** Bounds of the gRPC port. */
export interface GrpcLimits {
  /** Calls in flight on one connection. Default 250. Further ones wait at the client. */
  readonly streamsPerConnection: number;
  /** Memory of one connection, its buffered messages included. Megabytes. Default 64. Beyond: new calls are refused. */
  readonly connectionMegabytes: number;
  /** How long a connection without a call is kept. Milliseconds. Default 5 min. */
  readonly idleTimeoutMs: number;
  /** How often a silent client is asked whether it is still there. Milliseconds. Default 1 min; it has 20 s to answer. */
  readonly keepaliveMs: number;
}

/** What a gRPC port needs. */
export interface GrpcHostOptions {
  readonly binding: GrpcBinding;
  /** Largest request message in bytes, decompressed. Beyond: RESOURCE_EXHAUSTED with grpc-js's own text. */
  readonly maxBytes: number;
  /** Certificate and key. Unset: cleartext. */
  readonly tls?: ServerTls;
  readonly limits?: Partial<GrpcLimits>;
}

/** The gRPC port of a gateway. */
export interface GrpcHost {
  /** Rejects with Node's own error when the address cannot be had (`EADDRINUSE`, `EACCES`). */
  listen(address: GrpcAddress): Promise<GrpcAddress>;
  /** Gives new connections this certificate; see `renewTls`. */
  renew(tls: ServerTls): void;
  /**
   * Says GOAWAY and gives open calls this long. After that they end with UNAVAILABLE; what is still open a second
   * later is cut. Until all have ended the port goes on answering new connections, so that they hear a reason
   * instead of nothing: whoever answers the calls refuses them. Resolves when all connections are closed.
   */
  drain(graceMs: number): Promise<void>;
  /** Cuts everything at once. */
  close(): Promise<void>;
}

/** Every HTTP/2 connection begins with so many bytes (RFC 9113, 3.4). */
const PREFACE_BYTES = 24;
/** How long a client may take for them, and for the TLS handshake. Milliseconds. */
const SILENCE_MS = 15_000;

/**
 * A grpc-js server behind a listener of our own, which hands it each connection: it can then be told why an
 * address cannot be had, takes any TLS options, and can cut connections (on Node 20 grpc-js's own forced
 * shutdown waits for the clients once a graceful one has begun).
 */
export function createGrpcHost(options: GrpcHostOptions): GrpcHost {
  const { binding, tls } = options;
  const server = createServerOf(options);
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createListener(tls, (socket) => injector.injectConnection(socket));
  const sockets = watchSockets(listener);
  const stop = () =>
    new Promise<void>((resolve) => {
      listener.close(() => resolve());
      server.tryShutdown(() => undefined); // GOAWAY; a connection closes when its last call has ended
    });
  const cut = () => {
    server.forceShutdown();
    for (const socket of sockets) socket.destroy();
  };
  return {
    listen: (address) => listen(listener, address),
    renew: (renewed) => renewTls(listener, renewed),
    async drain(graceMs) {
      injector.drain(graceMs + 3 * FAREWELL_MS); // GOAWAY now; the time is for what is cut below anyhow
      const ended = await endCalls(binding, graceMs);
      const stopped = stop();
      if (!ended || !(await settles(stopped, FAREWELL_MS))) cut();
      await stopped;
    },
    async close() {
      const stopped = stop();
      cut();
      await stopped;
    },
  };
}

function createServerOf({ binding, maxBytes, limits = {} }: GrpcHostOptions): Server {
  const server = new Server({
    "grpc.max_receive_message_length": maxBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": limits.streamsPerConnection ?? 250,
    "grpc-node.max_session_memory": limits.connectionMegabytes ?? 64,
    "grpc.max_connection_idle_ms": limits.idleTimeoutMs ?? 300_000,
    "grpc.keepalive_time_ms": limits.keepaliveMs ?? 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.enable_channelz": 0, // bookkeeping for each call that nothing here reads
  });
  for (const { definition, implementation } of binding.services)
    server.addService(definition, implementation);
  return server;
}

function createListener(tls: ServerTls | undefined, accept: (socket: Socket) => void): NetServer {
  const onSocket = (socket: Socket) => {
    socket.on("error", () => undefined); // its session is told as well
    accept(socket);
  };
  if (tls === undefined) return createServer({ noDelay: true, keepAlive: true }, onSocket);
  return createTlsServer(
    { ...toTlsOptions(tls), ALPNProtocols: ["h2"], handshakeTimeout: SILENCE_MS },
    onSocket,
  );
}

function watchSockets(listener: NetServer): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  listener.on("connection", (socket: Socket) => {
    sockets.add(socket);
    const silence = setTimeout(() => {
      if (socket.bytesRead < PREFACE_BYTES) socket.destroy();
    }, SILENCE_MS);
    socket.once("close", () => {
      clearTimeout(silence);
      sockets.delete(socket);
    });
  });
  return sockets;
}

function listen(listener: NetServer, { host, port }: GrpcAddress): Promise<GrpcAddress> {
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(port, host, () => {
      listener.off("error", reject).on("error", () => undefined); // one connection could not be accepted
      resolve({ host, port: (listener.address() as AddressInfo).port });
    });
  });
}
