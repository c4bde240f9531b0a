import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { handleServerStreamingCall, handleUnaryCall } from "@grpc/grpc-js";
import type { Dispatcher, Parameters, Reply, Traffic } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { encodeBinary } from "../../protocol/binary/index.js";
import { abortable } from "../../protocol/ending.js";
import type { WireEvent } from "../../protocol/event.js";
import { decodeBinary } from "../binary.js";
import { BoundCall } from "../call.js";
import type { GrpcCall, OpenCall, OpenCalls } from "./open-calls.js";
import { asBuffer, toGrpcStatus, toMetadata } from "./status.js";
import { fail, type StreamForm, StreamWriter } from "./writer.js";

/** The A2A version that the package name of the service states. */
const IMPLIED_VERSION = "1.0";

type RequestCall = GrpcCall & { readonly request: Buffer };

/** A method and what its handler needs. */
export interface DispatchedMethod {
  readonly dispatcher: Dispatcher;
  readonly method: DescMethod;
  readonly open: OpenCalls;
  /** Levels of objects and lists that a message may have as JSON. */
  readonly maxDepth: number;
}

/** Answers a unary method through the dispatcher. Without a promise of its own: that of the dispatcher is enough. */
export function dispatchedUnary(served: DispatchedMethod): handleUnaryCall<Buffer, Buffer> {
  const { method, open } = served;
  return (call, callback) => {
    const opened = open.add(call);
    const traffic = { received: call.request.length, sent: 0 };
    const fail = (thrown: unknown) => {
      open.remove(opened);
      callback(toGrpcStatus(A2AError.from(thrown))); // grpc-js ignores a second answer
    };
    const succeed = (reply: Reply) => {
      let bytes: Buffer;
      try {
        bytes = asBuffer(encodeBinary(method.output, messageOf(reply)));
        traffic.sent = bytes.length;
        sendHeaders(call, reply);
      } catch (thrown) {
        fail(thrown);
        return;
      }
      open.remove(opened);
      callback(null, bytes);
    };
    opened.onInterrupt(fail);
    dispatch(served, call, opened, traffic).then(succeed, fail);
  };
}

function messageOf(reply: Reply): Message {
  if (reply.kind === "unary") return reply.message;
  throw new A2AError("INTERNAL", { cause: new Error("a stream, not one message") });
}

/** Answers a streaming method through the dispatcher; an event is encoded once for all its readers. */
export function dispatchedStream(served: DispatchedMethod): handleServerStreamingCall<Buffer, Buffer> {
  const { open } = served;
  const form: StreamForm<WireEvent> = { open, encode: ({ binary }) => asBuffer(binary) };
  return (call) => {
    const opened = open.add(call);
    const traffic = { received: call.request.length, sent: 0 };
    const begin = (reply: Reply) => {
      const messages = eventsOf(reply);
      sendHeaders(call, reply);
      new StreamWriter({ call, opened, messages, form, traffic }).start();
    };
    const refuse = (thrown: unknown) => {
      fail(call, A2AError.from(thrown));
      open.remove(opened);
    };
    abortable(dispatch(served, call, opened, traffic), opened)
      .then(begin)
      .catch(refuse);
  };
}

function eventsOf(reply: Reply): AsyncIterable<WireEvent> {
  if (reply.kind === "stream") return reply.events;
  throw new A2AError("INTERNAL", { cause: new Error("one message, not a stream") });
}

function dispatch(
  { dispatcher, method, maxDepth }: DispatchedMethod,
  call: RequestCall,
  caller: OpenCall,
  traffic: Traffic,
): Promise<Reply> {
  let request: Message;
  try {
    request = decodeBinary(method.input, call.request, maxDepth);
  } catch (thrown) {
    return Promise.reject(dispatcher.refuse({ wire: "grpc", traffic, method }, thrown));
  }
  return dispatcher.call(
    new BoundCall({
      wire: "grpc",
      method,
      request,
      parameters: parametersOf(call),
      impliedVersion: IMPLIED_VERSION,
      caller,
      traffic,
    }),
  );
}

/** Repeated values are joined as HTTP does; binary metadata (`-bin`) is nothing that A2A knows. */
function parametersOf({ metadata }: GrpcCall): Parameters {
  return (name) => {
    const values = metadata.get(name);
    if (values.length === 0) return undefined;
    const texts = values.filter((value) => typeof value === "string");
    return texts.length === 0 ? undefined : texts.join(", ");
  };
}

function sendHeaders(call: GrpcCall, { headers }: Reply): void {
  for (const _ in headers) {
    call.sendMetadata(toMetadata(headers));
    return;
  }
}
