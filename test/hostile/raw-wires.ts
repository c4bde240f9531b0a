import assert from "node:assert/strict";
import type { JsonValue } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { bytesOf, createHttpClient, type HttpAnswer, type HttpClient } from "../support/http-client.js";
import { type ConnectErrorJson, connectError, frame } from "../support/wires/connect-json.js";
import type { NeutralError, WireAddresses } from "../support/wires/index.js";
import { type Envelope, jsonRpcError } from "../support/wires/jsonrpc.js";
import { codeOfNumber, detailFromBinary, neutralError } from "../support/wires/neutral.js";
import { restError } from "../support/wires/rest.js";

/** What came back for bytes that no proper client would send. */
export type RawAnswer =
  | { readonly kind: "ok"; readonly id?: JsonValue }
  | { readonly kind: "error"; readonly error: NeutralError; readonly id?: JsonValue };

export interface RawAsk {
  readonly method: "SendMessage" | "GetTask" | "ListTasks";
  /** The bytes of the message, as the wire carries one: JSON text or protobuf. */
  readonly message: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RawClient {
  ask(ask: RawAsk): Promise<RawAnswer>;
  close(): Promise<void>;
}

/** A wire that is given the bytes of a message instead of the message. */
export interface RawWire {
  readonly name: string;
  readonly form: "json" | "protobuf";
  connect(addresses: WireAddresses): RawClient;
}

type Exchange = (http: HttpClient, ask: RawAsk) => Promise<RawAnswer>;

export const RAW_WIRES: readonly RawWire[] = [
  rawWire("grpc", "protobuf", 2, "grpc", askGrpc),
  rawWire("grpc on the HTTP port", "protobuf", 2, "http", askGrpc),
  ...([1, 2] as const).flatMap((version) => [
    rawWire(`grpc-web HTTP/${version}`, "protobuf", version, "http", askGrpcWeb),
    rawWire(`connect HTTP/${version}`, "protobuf", version, "http", askConnect("application/proto")),
    rawWire(`connect-json HTTP/${version}`, "json", version, "http", askConnect("application/json")),
    rawWire(`jsonrpc HTTP/${version}`, "json", version, "http", askJsonRpc),
    rawWire(`rest HTTP/${version}`, "json", version, "http", askRest),
  ]),
];

function rawWire(
  name: string,
  form: RawWire["form"],
  version: 1 | 2,
  port: keyof WireAddresses,
  exchange: Exchange,
): RawWire {
  return {
    name,
    form,
    connect: (addresses) => {
      const http = createHttpClient(addresses[port], version);
      return { ask: (ask) => exchange(http, ask), close: http.close };
    },
  };
}

async function askJsonRpc(http: HttpClient, { method, message, headers }: RawAsk): Promise<RawAnswer> {
  const before = Buffer.from(`{"jsonrpc":"2.0","id":"raw","method":"${method}","params":`);
  const body = Buffer.concat([before, message, Buffer.from("}")]);
  const answer = await http.ask({
    method: "POST",
    path: "/",
    headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
    body,
  });
  return readJsonRpc(answer);
}

/** Reads any JSON-RPC response. */
export async function readJsonRpc(answer: HttpAnswer): Promise<RawAnswer> {
  assert.equal(answer.headers["content-type"], "application/json");
  const envelope = (await jsonOf(answer)) as unknown as Envelope;
  assert.equal(envelope.jsonrpc, "2.0");
  if (!envelope.error) return { kind: "ok", id: envelope.id };
  return { kind: "error", error: jsonRpcError(envelope.error, answer.status), id: envelope.id };
}

const REST_PATHS = {
  SendMessage: "/message:send",
  GetTask: "/tasks/t1:cancel",
  ListTasks: "/message:stream",
};

/** REST has bodies on POST only: other methods stand for its other operations with a body. */
async function askRest(http: HttpClient, { method, message, headers }: RawAsk): Promise<RawAnswer> {
  const answer = await http.ask({
    method: "POST",
    path: REST_PATHS[method],
    headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
    body: message,
  });
  return readRest(answer);
}

/** Reads any REST response. */
export async function readRest(answer: HttpAnswer): Promise<RawAnswer> {
  if (answer.status === 200) {
    await bytesOf(answer);
    return { kind: "ok" };
  }
  assert.equal(answer.headers["content-type"], "application/json");
  return { kind: "error", error: restError(await jsonOf(answer), answer.status) };
}

function askConnect(type: string): Exchange {
  return async (http, { method, message, headers }) => {
    const answer = await http.ask({
      method: "POST",
      path: rpcPath(method),
      headers: { "content-type": type, "connect-protocol-version": "1", ...headers },
      body: message,
    });
    if (answer.status === 200) {
      await bytesOf(answer);
      return { kind: "ok" };
    }
    assert.equal(answer.headers["content-type"], "application/json");
    return {
      kind: "error",
      error: connectError((await jsonOf(answer)) as unknown as ConnectErrorJson, answer.status),
    };
  };
}

async function askGrpc(http: HttpClient, { method, message, headers }: RawAsk): Promise<RawAnswer> {
  const answer = await http.ask({
    method: "POST",
    path: rpcPath(method),
    headers: { "content-type": "application/grpc", te: "trailers", ...headers },
    body: frame(0, message),
  });
  assert.equal(answer.status, 200);
  await bytesOf(answer);
  return grpcStatus({ ...answer.headers, ...answer.trailers() });
}

async function askGrpcWeb(http: HttpClient, { method, message, headers }: RawAsk): Promise<RawAnswer> {
  const answer = await http.ask({
    method: "POST",
    path: rpcPath(method),
    headers: { "content-type": "application/grpc-web+proto", "x-grpc-web": "1", ...headers },
    body: frame(0, message),
  });
  assert.equal(answer.status, 200);
  const body = await bytesOf(answer);
  return grpcStatus({ ...answer.headers, ...trailerFrame(body) });
}

/** Fields of the last frame, whose flag is 0x80. */
function trailerFrame(body: Buffer): Record<string, string> {
  if (body.length === 0) return {};
  const end = 5 + body.readUInt32BE(1);
  if (body.readUInt8(0) !== 0x80) return trailerFrame(body.subarray(end));
  const lines = body.toString("latin1", 5, end).split("\r\n").filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
}

function grpcStatus(fields: Record<string, string>): RawAnswer {
  const number = Number(fields["grpc-status"]);
  if (number === 0) return { kind: "ok" };
  const message = decodeURIComponent(fields["grpc-message"] ?? "");
  const details = fields["grpc-status-details-bin"];
  const status = details === undefined ? undefined : fromBinary(StatusSchema, Buffer.from(details, "base64"));
  return {
    kind: "error",
    error: neutralError({
      code: codeOfNumber(number),
      message,
      details: status?.details.map(({ typeUrl, value }) => detailFromBinary(typeUrl, value)) ?? [],
      numbers: { grpc: number },
    }),
  };
}

async function jsonOf(answer: HttpAnswer): Promise<JsonValue> {
  return JSON.parse((await bytesOf(answer)).toString("utf8")) as JsonValue;
}

function rpcPath(method: string): string {
  return `/lf.a2a.v1.A2AService/${method}`;
}
