import type { SecureContextOptions, TlsOptions } from "node:tls";

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
