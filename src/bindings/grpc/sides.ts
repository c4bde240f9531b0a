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
import { type StreamCall, writeAll } from "./writer.js";

/** The handler of a side service's method. Throws an Error for a kind of method that none of them has. */
export function sideHandler(side: SideService, method: DescMethod, open: OpenCalls): UntypedHandleCall {
  switch (method.methodKind) {
    case "unary":
      return sideUnary(side, method, open);
    case "server_streaming":
      return sideStream(side, method, open);
    case "bidi_streaming":
      return sideBidi(side, method, open);
    case "client_streaming":
      throw new Error(`${method.parent.typeName}.${method.name} streams requests to one answer.`);
  }
}

function sideUnary(side: SideService, method: DescMethod, open: OpenCalls): handleUnaryCall<Buffer, Buffer> {
  return async (call, callback) => {
    const signal = open.add(call);
    try {
      for await (const message of side.answer(method, decode(method, [call.request]), signal.signal)) {
        callback(null, asBuffer(toBinary(method.output, message)));
        return;
      }
      throw new A2AError("INTERNAL", { cause: new Error("a unary method gave no answer") });
    } catch (thrown) {
      callback(toGrpcStatus(A2AError.from(thrown)));
    } finally {
      open.remove(signal);
    }
  };
}

function sideStream(
  side: SideService,
  method: DescMethod,
  open: OpenCalls,
): handleServerStreamingCall<Buffer, Buffer> {
  return (call) => answer(call, [call.request], { side, method, open });
}

function sideBidi(
  side: SideService,
  method: DescMethod,
  open: OpenCalls,
): handleBidiStreamingCall<Buffer, Buffer> {
  // Without the option the stream, whose other half still writes, is destroyed when its requests end.
  return (call) => answer(call, call.iterator({ destroyOnReturn: false }), { side, method, open });
}

interface SideMethod {
  readonly side: SideService;
  readonly method: DescMethod;
  readonly open: OpenCalls;
}

async function answer(
  call: StreamCall,
  requests: Iterable<Buffer> | AsyncIterable<Buffer>,
  { side, method, open }: SideMethod,
): Promise<void> {
  const calling = open.add(call);
  const { signal } = calling;
  const messages = side.answer(method, decode(method, requests), signal);
  await writeAll(call, messages, { signal, encode: (message) => asBuffer(toBinary(method.output, message)) });
  open.remove(calling);
}

async function* decode(
  method: DescMethod,
  requests: Iterable<Buffer> | AsyncIterable<Buffer>,
): AsyncGenerator<Message, void> {
  for await (const bytes of requests) yield decodeBinary(method.input, bytes);
}
