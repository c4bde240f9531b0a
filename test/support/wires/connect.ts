import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import {
  type DescMethodStreaming,
  type DescMethodUnary,
  fromJson,
  type JsonObject,
  toJson,
} from "@bufbuild/protobuf";
import { type Code as ConnectCode, ConnectError, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { HttpAddress } from "../http-client.js";
import { codeOfNumber, detailFromBinary, neutralError } from "./neutral.js";
import { methodOf } from "./shape.js";
import {
  type Answer,
  type AnswerHeaders,
  type AskOptions,
  type NeutralError,
  type Step,
  streamOf,
  type WireClient,
} from "./wire.js";

interface ConnectClientOptions {
  readonly protocol: "connect" | "grpc-web";
  readonly httpVersion: 1 | 2;
}

/** Connect with protobuf, or gRPC-Web, through connect-node's own transports. */
export function createConnectClient(address: HttpAddress, options: ConnectClientOptions): WireClient {
  const { transport, close } = openTransport(address, options);
  return {
    call: (method, request, ask = {}) => callUnary(transport, method, request, ask),
    stream: (method, request, ask = {}) =>
      streamOf((signal) => readStream(transport, method, request, ask, signal)),
    close,
  };
}

function openTransport({ host, port, tls }: HttpAddress, { protocol, httpVersion }: ConnectClientOptions) {
  const baseUrl = `${tls ? "https" : "http"}://${host}:${port}`;
  const create = protocol === "connect" ? createConnectTransport : createGrpcWebTransport;
  const shared = { baseUrl, useBinaryFormat: true };
  if (httpVersion === 1) {
    const agent = tls ? new SecureAgent({ keepAlive: true, ...tls }) : new Agent({ keepAlive: true });
    const transport = create({ ...shared, httpVersion: "1.1", nodeOptions: { agent } });
    return { transport, close: () => Promise.resolve(agent.destroy()) };
  }
  const sessionManager = new Http2SessionManager(
    baseUrl,
    undefined,
    tls && { servername: "localhost", ...tls },
  );
  const transport = create({ ...shared, httpVersion: "2", sessionManager });
  return { transport, close: () => Promise.resolve(sessionManager.abort()) };
}

async function callUnary(
  transport: Transport,
  name: string,
  request: JsonObject,
  ask: AskOptions,
): Promise<Answer> {
  const method = methodOf(name) as DescMethodUnary;
  const input = fromJson(method.input, request);
  try {
    const response = await transport.unary(method, undefined, ask.timeoutMs, headersFor(ask), input);
    return {
      kind: "ok",
      message: toJson(method.output, response.message),
      headers: headersOf(response.header),
    };
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    return { kind: "error", error: connectError(error), headers: headersOf(error.metadata) };
  }
}

async function* readStream(
  transport: Transport,
  name: string,
  request: JsonObject,
  ask: AskOptions,
  signal: AbortSignal,
): AsyncGenerator<Step, void> {
  const method = methodOf(name) as DescMethodStreaming;
  const input = fromJson(method.input, request);
  let first = true;
  let headers: AnswerHeaders = {};
  try {
    const sent = (async function* () {
      yield input;
    })();
    const response = await transport.stream(method, signal, ask.timeoutMs, headersFor(ask), sent);
    headers = headersOf(response.header);
    for await (const message of response.message) {
      yield { kind: "event", message: toJson(method.output, message), headers };
      first = false;
    }
  } catch (thrown) {
    if (signal.aborted) return;
    yield { kind: "error", error: connectError(ConnectError.from(thrown)), first, headers };
  }
}

function connectError(error: ConnectError): NeutralError {
  const number: ConnectCode = error.code;
  const details = error.details.map((detail) => {
    if ("desc" in detail) throw new Error("an incoming detail is not typed");
    return detailFromBinary(`type.googleapis.com/${detail.type}`, detail.value);
  });
  return neutralError({
    code: codeOfNumber(number),
    message: error.rawMessage,
    details,
    numbers: { grpc: number },
  });
}

function headersFor({ headers = {}, version }: AskOptions): Headers {
  const out = new Headers(headers);
  if (typeof version === "string") out.set("a2a-version", version);
  return out;
}

function headersOf(headers: Headers): AnswerHeaders {
  return Object.fromEntries(headers.entries());
}
