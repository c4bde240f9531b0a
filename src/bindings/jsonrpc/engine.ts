import type { DescMethod, DescService, JsonValue, Message } from "@bufbuild/protobuf";
import type { Call, Dispatcher, Reply, ReplyHeaders, Traffic } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { DEFAULT_DEPTH } from "../../protocol/depth.js";
import type { WireEvent } from "../../protocol/event.js";
import { readJsonValue, writeJson } from "../../protocol/json/index.js";
import { A2AService } from "../../protocol/schema.js";
import { toDetailsText } from "../../protocol/status.js";
import { BoundCall, type CallInit } from "../call.js";
import { readEnvelope } from "./envelope.js";

/** One request as a carrier received it, and what the carrier knows about it. */
export interface RpcRequest
  extends Pick<CallInit, "addressTenant" | "parameters" | "queryVersion" | "caller" | "traffic"> {
  readonly source: string | Uint8Array;
}

/** One response as an answer. */
export interface RpcSingle {
  readonly kind: "single";
  /** A JSON-RPC 2.0 response on one line. */
  readonly text: string;
  readonly headers: ReplyHeaders;
  /** Set when the response is an error. */
  readonly error?: A2AError;
}

/** A response per event as an answer. */
export class RpcStream {
  readonly kind = "stream";
  readonly headers: ReplyHeaders;
  /** May reject at the first `next`: what `fail` gives is then the whole answer, else it is the last response. */
  readonly events: AsyncIterable<WireEvent>;
  readonly #id: string;

  constructor(id: string, events: AsyncIterable<WireEvent>, headers: ReplyHeaders) {
    this.#id = id;
    this.events = events;
    this.headers = headers;
  }

  /** An event as a JSON-RPC 2.0 response on one line. */
  write(event: WireEvent): string {
    return resultText(this.#id, event.json);
  }

  /** A failure as a JSON-RPC 2.0 response on one line. */
  fail(error: A2AError): string {
    return errorText(this.#id, error);
  }
}

export type RpcAnswer = RpcSingle | RpcStream;

/** Speaks JSON-RPC 2.0 (specification 9), whatever carries it. */
export interface RpcEngine {
  /** Never rejects: what goes wrong is in the answer. */
  answer(request: RpcRequest): Promise<RpcAnswer>;
  /** The response to a request that could not be received, which is reported; its id is null. */
  refuse(traffic: Traffic, thrown: unknown): RpcSingle;
}

export interface RpcEngineOptions {
  readonly dispatcher: Dispatcher;
  /** Services whose methods are served by their names. Default: A2AService. */
  readonly services?: readonly DescService[] | undefined;
  /** Levels of objects and lists that params may have. Default 100. */
  readonly maxDepth?: number | undefined;
}

export function createRpcEngine(options: RpcEngineOptions): RpcEngine {
  const { dispatcher, services = [A2AService], maxDepth = DEFAULT_DEPTH } = options;
  const methods = new Map(
    services.flatMap((service) => service.methods.map((method) => [method.name, method])),
  );

  function refuse(traffic: Traffic, thrown: unknown, id = "null", method?: DescMethod): RpcSingle {
    const error = dispatcher.refuse({ wire: "jsonrpc", traffic, ...(method && { method }) }, thrown);
    return failure(traffic, id, error);
  }

  async function perform(call: Call, id: string): Promise<RpcAnswer> {
    let reply: Reply;
    try {
      reply = await dispatcher.call(call);
    } catch (thrown) {
      // The dispatcher has reported it.
      return failure(call.traffic, id, A2AError.from(thrown));
    }
    if (reply.kind === "stream") return new RpcStream(id, reply.events, reply.headers);
    try {
      return success(call, id, reply.message, reply.headers);
    } catch (thrown) {
      return refuse(call.traffic, thrown, id, call.method);
    }
  }

  return {
    refuse: (traffic, thrown) => refuse(traffic, thrown),
    async answer(request) {
      const { source, traffic } = request;
      traffic.received += Buffer.byteLength(source);
      const { id, envelope } = readEnvelope(source, maxDepth);
      if (envelope instanceof A2AError) return refuse(traffic, envelope, id);
      const method = methods.get(envelope.method);
      if (method === undefined) return refuse(traffic, new A2AError("METHOD_NOT_FOUND"), id);
      let message: Message;
      try {
        message = readParams(method, envelope.params);
      } catch (thrown) {
        return refuse(traffic, thrown, id, method);
      }
      return await perform(toCall(request, method, message), id);
    },
  };
}

/** Field by field: spreading the request would cost several microseconds a call. */
function toCall(request: RpcRequest, method: DescMethod, message: Message): Call {
  const { addressTenant, parameters, queryVersion, caller, traffic } = request;
  return new BoundCall({
    wire: "jsonrpc",
    method,
    request: message,
    addressTenant,
    parameters,
    queryVersion,
    caller,
    traffic,
  });
}

/** Parameters left out are the empty message; anything but an object is none. */
function readParams(method: DescMethod, params: JsonValue = {}): Message {
  if (typeof params !== "object" || params === null || Array.isArray(params)) {
    throw new A2AError("INVALID_ARGUMENT", { text: "The params must be an object." });
  }
  return readJsonValue(method.input, params);
}

function success(call: Call, id: string, message: Message, headers: ReplyHeaders): RpcSingle {
  const text = resultText(id, writeJson(call.method.output, message));
  call.traffic.sent += Buffer.byteLength(text);
  return { kind: "single", text, headers };
}

function failure(traffic: Traffic, id: string, error: A2AError): RpcSingle {
  const text = errorText(id, error);
  traffic.sent += Buffer.byteLength(text);
  return { kind: "single", text, headers: {}, error };
}

function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

function errorText(id: string, error: A2AError): string {
  const details = toDetailsText(error);
  const data = details === "[]" ? "" : `,"data":${details}`;
  const { jsonrpc } = error.row;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${jsonrpc},"message":${JSON.stringify(error.message)}${data}}}`;
}
