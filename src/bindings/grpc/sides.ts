import { type DescMethod, type Message, toBinary } from "@bufbuild/protobuf";
import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  UntypedHandleCall,
} from "@grpc/grpc-js";
import { A2AError } from "../../errors.js";
import { decodeBinary } from "../binary.js";
import type { SideService } from "../side-service.js";
import type { OpenCalls } from "./open-calls.js";
import { asBuffer, toGrpcStatus } from "./status.js";
import { type StreamCall, type StreamForm, StreamWriter } from "./writer.js";

/** A method and what its handler needs. */
export interface SideMethod {
  readonly side: SideService;
  readonly method: DescMethod;
  readonly open: OpenCalls;
  /** Levels of objects and lists that a message may have as JSON. */
  readonly maxDepth: number;
}

/** The handler of a side service's method. Throws an Error for a kind of method that none of them has. */
export function sideHandler(served: SideMethod): UntypedHandleCall {
  const { method } = served;
  switch (method.methodKind) {
    case "unary":
      return sideUnary(served);
    case "server_streaming":
      return sideStream(served);
    case "bidi_streaming":
      return sideBidi(served);
    case "client_streaming":
      throw new Error(`${method.parent.typeName}.${method.name} streams requests to one answer.`);
  }
}

function sideUnary(served: SideMethod): handleUnaryCall<Buffer, Buffer> {
  const { side, method, open } = served;
  return async (call, callback) => {
    const opened = open.add(call);
    try {
      for await (const message of side.answer(method, decode(served, [call.request]), opened.signal)) {
        callback(null, asBuffer(toBinary(method.output, message)));
        return;
      }
      throw new A2AError("INTERNAL", { cause: new Error("a unary method gave no answer") });
    } catch (thrown) {
      callback(toGrpcStatus(A2AError.from(thrown)));
    } finally {
      open.remove(opened);
    }
  };
}

function sideStream(served: SideMethod): handleServerStreamingCall<Buffer, Buffer> {
  return (call) => answer(call, [call.request], served);
}

function sideBidi(served: SideMethod): handleBidiStreamingCall<Buffer, Buffer> {
  // Without the option the stream, whose other half still writes, is destroyed when its requests end.
  return (call) => answer(call, call.iterator({ destroyOnReturn: false }), served);
}

function answer(
  call: StreamCall,
  requests: Iterable<Buffer> | AsyncIterable<Buffer>,
  served: SideMethod,
): void {
  const { side, method, open } = served;
  const opened = open.add(call);
  const messages = side.answer(method, decode(served, requests), opened.signal);
  const form: StreamForm<Message> = { open, encode: (message) => asBuffer(toBinary(method.output, message)) };
  new StreamWriter({ call, opened, messages, form }).start();
}

async function* decode(
  { method, maxDepth }: SideMethod,
  requests: Iterable<Buffer> | AsyncIterable<Buffer>,
): AsyncGenerator<Message, void> {
  for await (const bytes of requests) yield decodeBinary(method.input, bytes, maxDepth);
}
