/** Bounds of the HTTP port, for all its connections. */
export interface HttpLimits {
  /** Largest request head, all header fields together. Bytes. Default 16 KiB. Beyond: 431. */
  readonly headerBytes: number;
  /** Longest request target. Bytes. Default 8 KiB. Beyond: 414. */
  readonly targetBytes: number;
  /** How long a request head may take to arrive. Milliseconds. Default 15 s. Beyond: 408. */
  readonly headersTimeoutMs: number;
  /** How long a whole request may take to arrive. Milliseconds. Default 60 s. Beyond: 408. */
  readonly requestTimeoutMs: number;
  /** How long a connection without a request in flight is kept. Milliseconds. Default 30 s for HTTP/1.1, ten times that for HTTP/2. */
  readonly idleTimeoutMs: number;
  /** How often late requests are looked for. Milliseconds. Default 1 s. */
  readonly checkIntervalMs: number;
  /** Calls in flight on one HTTP/2 connection. Default 250. Further ones wait at the client. */
  readonly streamsPerConnection: number;
  /** Memory of one HTTP/2 connection, its buffered bodies included. Megabytes. Default 64. Beyond: new streams are refused. */
  readonly connectionMegabytes: number;
}

/** What holds where nothing else is said. */
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headerBytes: 16 * 1024,
  targetBytes: 8 * 1024,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 30_000,
  checkIntervalMs: 1_000,
  streamsPerConnection: 250,
  connectionMegabytes: 64,
};
