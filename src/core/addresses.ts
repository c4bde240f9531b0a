import type { PublicAddresses } from "./cards.js";

/** Where the ports of a gateway listen, once they do. */
export interface BoundAddresses {
  readonly http: BoundAddress;
  /** Absent when gRPC has no port of its own. */
  readonly grpc?: BoundAddress;
  /** True: both ports speak TLS. */
  readonly tls: boolean;
}

/** What `server.address()` says of a TCP port. */
export interface BoundAddress {
  readonly address: string;
  readonly port: number;
}

/** What is configured about how clients reach the gateway. */
export interface PublicNames {
  /** Base URL of the HTTP port. Unset: the address it listens on. */
  readonly publicUrl?: string;
  /** `host:port` of the gRPC port. Unset: the host of `publicUrl` with the port it listens on. */
  readonly publicGrpc?: string;
}

/** How clients reach the gateway: as configured, else where it listens. A wildcard address is shown as the loopback. */
export function publicAddresses(bound: BoundAddresses, names: PublicNames = {}): PublicAddresses {
  const scheme = bound.tls ? "https" : "http";
  const url = names.publicUrl ?? `${scheme}://${hostOf(bound.http)}:${bound.http.port}`;
  if (bound.grpc === undefined) return { url };
  const host = names.publicUrl === undefined ? hostOf(bound.grpc) : new URL(names.publicUrl).hostname;
  return { url, grpc: names.publicGrpc ?? `${host}:${bound.grpc.port}` };
}

function hostOf({ address }: BoundAddress): string {
  if (address === "0.0.0.0") return "127.0.0.1";
  if (address === "::") return "[::1]";
  return address.includes(":") ? `[${address}]` : address;
}
