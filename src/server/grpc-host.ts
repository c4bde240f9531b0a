import { isIPv6 } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { GrpcBinding } from "../bindings/grpc/index.js";
import { A2AError } from "../errors.js";
import type { Health } from "./health.js";
import { FAREWELL_MS, settles } from "./settles.js";

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
  /** Key and certificate chain in PEM. Unset: cleartext. */
  readonly tls?: { readonly key?: unknown; readonly cert?: unknown };
  /** Turned to NOT_SERVING when the port drains. */
  readonly health?: Health;
  readonly limits?: Partial<GrpcLimits>;
}

/** The gRPC port of a gateway. */
export interface GrpcHost {
  /** Rejects with Node's own kind of error when the address cannot be had (`code` is `EADDRINUSE`, `EACCES`…). */
  listen(address: GrpcAddress): Promise<GrpcAddress>;
  /**
   * Turns health to NOT_SERVING, stops accepting, says GOAWAY, and gives open calls this long. After that they
   * end with UNAVAILABLE; what is still open a second later is cut. Resolves when all connections are closed.
   */
  drain(graceMs: number): Promise<void>;
  /** Cuts everything at once. */
  close(): Promise<void>;
}

/** A grpc-js server on a port of its own. */
export function createGrpcHost(options: GrpcHostOptions): GrpcHost {
  const { binding, health } = options;
  const server = createServer(options);
  for (const { definition, implementation } of binding.services) server.addService(definition, implementation);
  const stop = () => new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  return {
    listen: (address) => listen(server, address, credentialsOf(options.tls)),
    async drain(graceMs) {
      health?.setServing(false);
      const stopped = stop();
      if (await settles(stopped, graceMs)) return;
      binding.interrupt(new A2AError("UNAVAILABLE", { text: "The gateway is shutting down." }));
      if (await settles(stopped, FAREWELL_MS)) return;
      server.forceShutdown();
      await stopped;
    },
    async close() {
      const stopped = stop();
      server.forceShutdown();
      await stopped;
    },
  };
}

function createServer({ maxBytes, limits = {} }: GrpcHostOptions): Server {
  return new Server({
    "grpc.max_receive_message_length": maxBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": limits.streamsPerConnection ?? 250,
    "grpc-node.max_session_memory": limits.connectionMegabytes ?? 64,
    "grpc.max_connection_idle_ms": limits.idleTimeoutMs ?? 300_000,
    "grpc.keepalive_time_ms": limits.keepaliveMs ?? 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.enable_channelz": 0, // bookkeeping per call that nothing here reads
  });
}

function credentialsOf(tls: GrpcHostOptions["tls"]): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(null, [{ private_key: pem(tls.key), cert_chain: pem(tls.cert) }]);
}

function pem(value: unknown): Buffer {
  const parts = [value].flat().filter((part) => typeof part === "string" || Buffer.isBuffer(part));
  return Buffer.from(parts.join("\n"));
}

function listen(server: Server, { host, port }: GrpcAddress, credentials: ServerCredentials): Promise<GrpcAddress> {
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(authority, credentials, (error, bound) => {
      if (error === null) resolve({ host, port: bound });
      else reject(bindError(error, authority));
    });
  });
}

/** grpc-js hides the cause in its text. */
function bindError(error: Error, authority: string): Error {
  const [code] = /\bE[A-Z]{4,}\b/.exec(error.message) ?? [];
  if (code === undefined) return error;
  return Object.assign(new Error(`listen ${code}: ${authority}`, { cause: error }), { code, syscall: "listen" });
}
