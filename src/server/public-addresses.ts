import { isIPv6 } from "node:net";
import type { PublicAddresses } from "../core/cards.js";

interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** What an operator said about where clients reach the ports. */
export interface PublicOptions {
  readonly publicUrl?: string;
  readonly publicGrpc?: string;
  /** Set when the ports speak TLS. */
  readonly tls?: unknown;
}

/** The addresses that cards name: what the operator said, else what the ports listen on. */
export function publicAddresses(
  options: PublicOptions,
  http: HostPort | undefined,
  grpc: HostPort | undefined,
): PublicAddresses {
  const { publicUrl, publicGrpc, tls } = options;
  const url = publicUrl ?? (http ? urlOf(http, tls !== undefined) : "http://localhost");
  if (grpc === undefined) return { url };
  const host = publicUrl === undefined ? bracketed(reachable(grpc.host)) : new URL(publicUrl).hostname;
  return { url, grpc: publicGrpc ?? `${host}:${grpc.port}` };
}

/** Base URL of a port, with an address that can be connected to. */
export function urlOf({ host, port }: HostPort, secure: boolean): string {
  return `${secure ? "https" : "http"}://${bracketed(reachable(host))}:${port}`;
}

/** An address that means «any» can be bound, but nobody can connect to it. */
function reachable(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "localhost" : host;
}

function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}
