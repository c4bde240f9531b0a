import type { Server as NetServer } from "node:net";
import { type SecureContextOptions, type TlsOptions, Server as TlsServer } from "node:tls";

/** TLS of the ports: certificate, key, and whatever else Node takes. */
export interface ServerTls extends SecureContextOptions {
  /**
   * Certificates of authorities, PEM. Every client must then show a certificate that one of them has signed;
   * without it the connection ends in the handshake. Unset: clients are not asked for one.
   */
  readonly clientCa?: string | undefined;
}

/** The same as Node's servers take it. */
export function toTlsOptions({ clientCa, ...context }: ServerTls): TlsOptions {
  if (clientCa === undefined) return context;
  return { ...context, ca: clientCa, requestCert: true, rejectUnauthorized: true };
}

/**
 * Gives new connections of a server this certificate; those that are open keep theirs. Whether clients are asked for
 * one stays as it was. Throws Node's own error, and changes nothing, when certificate and key do not fit. Does nothing
 * to a server in cleartext.
 */
export function renewTls(server: NetServer, tls: ServerTls): void {
  if (server instanceof TlsServer) server.setSecureContext(toTlsOptions(tls));
}
