import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Router } from "express";
import type { HttpBinding, HttpRequest, HttpResponse } from "../../src/bindings/http.js";
import type { A2AError } from "../../src/errors.js";
import { createExpressHost } from "../../src/server/express-host.js";
import { createHttpHost, type HttpHost, type HttpHostOptions } from "../../src/server/http-host.js";
import { createHttpClient, type HttpClient } from "./http-client.js";

/** An HTTP port on loopback, with clients that end with it. */
export interface StartedHost {
  readonly host: HttpHost;
  readonly port: number;
  /** What the host reported. */
  readonly reports: readonly A2AError[];
  client(version: 1 | 2): HttpClient;
  /** A connected TCP socket. */
  raw(): Promise<Socket>;
}

/** A host's options, with its pages as Express routes. */
export type HostParts = Partial<HttpHostOptions> & { readonly routers?: readonly Router[] };

/** Starts hosts; `stopAll` belongs into `afterEach`. */
export function createHostStarter() {
  const cleanUps: (() => unknown)[] = [];
  const start = async ({ routers = [], ...options }: HostParts): Promise<StartedHost> => {
    const reports: A2AError[] = [];
    const report = (error: A2AError) => reports.push(error);
    const pages = async () => createExpressHost({ routers, report });
    const host = createHttpHost({ bindings: [], pages, report, ...options });
    const { port } = await host.listen(0, "127.0.0.1");
    cleanUps.push(() => host.close());
    return {
      host,
      port,
      reports,
      client(version) {
        const client = createHttpClient({ host: "127.0.0.1", port }, version);
        let closing: Promise<void> | undefined;
        const close = () => {
          closing ??= client.close();
          return closing;
        };
        cleanUps.push(close);
        return { ask: client.ask, close };
      },
      async raw() {
        const socket = connect(port, "127.0.0.1").on("error", () => undefined);
        cleanUps.push(() => socket.destroy());
        await once(socket, "connect");
        return socket;
      },
    };
  };
  const stopAll = async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  return { start, stopAll };
}

/** Everything that a connection says until it closes. */
export async function said(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1").on("data", (piece) => {
    text += piece;
  });
  await once(socket, "close");
  return text;
}

/** The error of a REST envelope somewhere in a text. */
export function envelopeIn(text: string): { code: number; status: string; message: string } {
  return JSON.parse(text.slice(text.indexOf("{"))).error;
}

/** A plain answer. */
export function ok(body?: HttpResponse["body"]): HttpResponse {
  return { status: 200, headers: { "content-type": "text/plain" }, ...(body === undefined ? {} : { body }) };
}

/** A binding that takes everything. */
export function always(answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>): HttpBinding {
  return async (request) => answer(request);
}

/** A binding that sends each body back. */
export const echoBody: HttpBinding = always(async (request) => {
  const pieces: Uint8Array[] = [];
  for await (const piece of request.body()) pieces.push(piece);
  return ok(Buffer.concat(pieces));
});

/** A body that yields one piece and then nothing until it is closed. */
export interface IdleBody {
  readonly body: AsyncIterable<string>;
  /** Resolves when the second piece is asked for. */
  readonly idle: Promise<void>;
  /** Resolves to the time at which the body was closed. */
  readonly closed: Promise<number>;
}

export function createIdleBody(): IdleBody {
  let pulled: () => void = () => undefined;
  let close: (at: number) => void = () => undefined;
  const idle = new Promise<void>((resolve) => {
    pulled = resolve;
  });
  const closed = new Promise<number>((resolve) => {
    close = resolve;
  });
  let count = 0;
  const next = (): Promise<IteratorResult<string>> => {
    if (count++ === 0) return Promise.resolve({ done: false, value: "one" });
    pulled();
    return closed.then(() => ({ done: true, value: undefined }));
  };
  const end = (): Promise<IteratorResult<string>> => {
    close(Date.now());
    return Promise.resolve({ done: true, value: undefined });
  };
  return { body: { [Symbol.asyncIterator]: () => ({ next, return: end }) }, idle, closed };
}
