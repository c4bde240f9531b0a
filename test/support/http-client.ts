import { Agent, request as http1Request, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, constants, connect as http2Connect } from "node:http2";
import { request as httpsRequest, Agent as SecureAgent } from "node:https";

/** What a test asks over HTTP. */
export interface HttpAsk {
  readonly method: string;
  /** The raw request target: sent as it is. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  /** By name in lower case; repeated ones joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Buffer>;
  /** Known once the body has ended. */
  readonly trailers: () => Readonly<Record<string, string>>;
}

/** A client for one address and one HTTP version, with nothing between the test and Node. */
export interface HttpClient {
  ask(ask: HttpAsk): Promise<HttpAnswer>;
  close(): Promise<void>;
}

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
  /** Set: the port speaks TLS. */
  readonly tls?: ClientTls;
}

/** What a client trusts and, where it is asked, who it is. PEM. */
export interface ClientTls {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

export function createHttpClient(address: HttpAddress, version: 1 | 2): HttpClient {
  return version === 1 ? createHttp1Client(address) : createHttp2Client(address);
}

/** The whole body as text. */
export async function textOf(answer: HttpAnswer): Promise<string> {
  return (await bytesOf(answer)).toString("utf8");
}

/** The whole body. */
export async function bytesOf(answer: HttpAnswer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function createHttp1Client({ host, port, tls }: HttpAddress): HttpClient {
  const agent = tls ? new SecureAgent({ keepAlive: true, ...tls }) : new Agent({ keepAlive: true });
  const request = tls ? httpsRequest : http1Request;
  return {
    ask: ({ method, path, headers = {}, body, signal }) =>
      new Promise((resolve, reject) => {
        const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
        const options = { host, port, agent, method, path, headers: { ...length, ...headers } };
        const sent = request(options, (incoming) => {
          incoming.on("error", () => undefined); // whoever reads the body hears of it
          resolve({
            status: incoming.statusCode ?? 0,
            headers: joined(incoming.headers),
            body: incoming,
            trailers: () => joined(incoming.trailers),
          });
        });
        sent.on("error", reject);
        signal?.addEventListener("abort", () => sent.destroy(), { once: true });
        sent.end(body);
      }),
    close: () => {
      agent.destroy();
      return Promise.resolve();
    },
  };
}

function createHttp2Client({ host, port, tls }: HttpAddress): HttpClient {
  // Node's own 10 MB would end a request that is larger before it is sent.
  const memory = { maxSessionMemory: 100 };
  const session = tls
    ? http2Connect(`https://${host}:${port}`, { servername: "localhost", ...memory, ...tls })
    : http2Connect(`http://${host}:${port}`, memory);
  session.on("error", () => undefined); // a request that is hit by it reports it
  return {
    ask: (ask) => askHttp2(session, ask),
    close: () =>
      new Promise((resolve) => {
        if (session.destroyed) resolve();
        session.once("close", () => resolve());
        session.destroy();
      }),
  };
}

function askHttp2(session: ClientHttp2Session, ask: HttpAsk): Promise<HttpAnswer> {
  const { method, path, headers = {}, body, signal } = ask;
  const stream = session.request(
    { ":method": method, ":path": path, ...headers },
    { endStream: body === undefined },
  );
  signal?.addEventListener("abort", () => stream.close(constants.NGHTTP2_CANCEL), { once: true });
  if (body !== undefined) stream.end(body);
  let trailers: Readonly<Record<string, string>> = {};
  stream.on("trailers", (fields) => {
    trailers = joined(fields);
  });
  return new Promise((resolve, reject) => {
    stream.on("error", reject);
    stream.on("close", () => reject(new Error(`stream closed without an answer (${stream.rstCode})`)));
    stream.on("response", (fields) => {
      const { ":status": status, ...rest } = fields;
      resolve({ status: Number(status), headers: joined(rest), body: stream, trailers: () => trailers });
    });
  });
}

function joined(headers: IncomingMessage["headers"] | Record<string, unknown>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) out[name] = Array.isArray(value) ? value.join(", ") : String(value);
  }
  return out;
}
