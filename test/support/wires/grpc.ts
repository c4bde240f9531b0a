import assert from "node:assert/strict";
import { type DescMessage, fromBinary, type JsonObject } from "@bufbuild/protobuf";
import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  type ClientReadableStream,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { ClientTls, HttpAddress } from "../http-client.js";
import { fromLoader, loaderMethod, toLoader } from "./loader.js";
import { codeOfNumber, detailFromBinary, neutralError } from "./neutral.js";
import { canonicalJson, methodOf } from "./shape.js";
import {
  type Answer,
  type AnswerHeaders,
  type AskOptions,
  type NeutralError,
  type Step,
  streamOf,
  type WireClient,
} from "./wire.js";

/** gRPC with grpc-js and proto-loader: a client that shares no code with the gateway's encoders. */
export function createGrpcClient({ host, port, tls }: HttpAddress): WireClient {
  const client = new Client(`${host}:${port}`, credentialsOf(tls), {
    "grpc.use_local_subchannel_pool": 1,
  });
  return {
    call: (method, request, options = {}) => callUnary(client, method, request, options),
    stream: (method, request, options = {}) =>
      streamOf((signal) => readStream(client, method, request, options, signal)),
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

function credentialsOf(tls: ClientTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const [ca, key, cert] = [tls.ca, tls.key, tls.cert].map((pem) =>
    pem === undefined ? null : Buffer.from(pem),
  );
  return credentials.createSsl(ca, key, cert);
}

function callUnary(client: Client, name: string, request: JsonObject, options: AskOptions): Promise<Answer> {
  const method = loaderMethod(name);
  const desc = methodOf(name);
  let headers: AnswerHeaders = {};
  return new Promise((resolve) => {
    const call: ClientUnaryCall = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      toLoader(desc.input, request),
      metadataOf(options),
      callOptions(options),
      (error, loaded) => {
        if (error) resolve({ kind: "error", error: grpcError(error), headers });
        else resolve({ kind: "ok", message: canonical(desc.output, loaded as object), headers });
      },
    );
    call.on("metadata", (metadata) => {
      headers = headersOf(metadata);
    });
  });
}

async function* readStream(
  client: Client,
  name: string,
  request: JsonObject,
  options: AskOptions,
  signal: AbortSignal,
): AsyncGenerator<Step, void> {
  const method = loaderMethod(name);
  const desc = methodOf(name);
  const call: ClientReadableStream<object> = client.makeServerStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    toLoader(desc.input, request),
    metadataOf(options),
    callOptions(options),
  );
  let headers: AnswerHeaders = {};
  let first = true;
  call.on("metadata", (metadata) => {
    headers = headersOf(metadata);
  });
  signal.addEventListener("abort", () => call.cancel(), { once: true });
  try {
    for await (const loaded of call) {
      yield { kind: "event", message: canonical(desc.output, loaded), headers };
      first = false;
    }
  } catch (error) {
    if (!signal.aborted) yield { kind: "error", error: grpcError(error as ServiceError), first, headers };
  }
}

function canonical(desc: DescMessage, loaded: object) {
  return canonicalJson(desc, fromLoader(desc, loaded));
}

/** Reads the status and its details, which must agree with each other. */
export function grpcError(error: ServiceError): NeutralError {
  const code = codeOfNumber(error.code);
  const [bytes] = error.metadata.get("grpc-status-details-bin");
  const numbers = { grpc: error.code };
  if (bytes === undefined) return neutralError({ code, message: error.details, details: [], numbers });
  const status = fromBinary(StatusSchema, bytes as Buffer);
  assert.equal(status.code, error.code, "grpc-status and grpc-status-details-bin agree");
  assert.equal(status.message, error.details, "grpc-message and grpc-status-details-bin agree");
  const details = status.details.map(({ typeUrl, value }) => detailFromBinary(typeUrl, value));
  return neutralError({ code, message: status.message, details, numbers });
}

function metadataOf({ headers = {}, version }: AskOptions): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  if (typeof version === "string") metadata.set("a2a-version", version);
  return metadata;
}

function callOptions({ timeoutMs }: AskOptions): CallOptions {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

function headersOf(metadata: Metadata): AnswerHeaders {
  return Object.fromEntries(
    Object.keys(metadata.getMap()).map((name) => [name, metadata.get(name).join(", ")]),
  );
}
