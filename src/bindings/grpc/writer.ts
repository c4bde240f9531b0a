import type { ServerDuplexStream, ServerWritableStream } from "@grpc/grpc-js";
import { A2AError } from "../../errors.js";
import type { AbortState } from "../../protocol/ending.js";
import type { EventIterator } from "../../protocol/event.js";
import { readUntilAborted } from "../reader.js";
import { toGrpcStatus } from "./status.js";

/** A call that answers with a stream. */
export type StreamCall = ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;

/** Messages that are written without a promise if they are there already. */
const BATCH = 16;
/** Batches of one stream that are written before other calls get a turn. */
const BURST = 4;

/** How a stream is written. */
export interface WriteOptions<T> {
  readonly caller: AbortState;
  encode(message: T): Buffer;
}

/**
 * Writes a stream to its end or its failure, as fast as the client reads. When the call is aborted the reader is
 * closed at once and the call ends with the reason.
 */
export async function writeAll<T>(
  call: StreamCall,
  messages: AsyncIterable<T>,
  { caller, encode }: WriteOptions<T>,
): Promise<void> {
  const reader = readUntilAborted(messages, caller);
  try {
    for (let count = 1; ; count++) {
      const step = await reader.next();
      if (step.done) break;
      if (!writeReady(call, step.value, reader, encode)) await drained(call, caller);
      else if (count % BURST === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    call.end();
  } catch (thrown) {
    await reader.return?.();
    fail(call, A2AError.from(thrown));
  }
}

/** Writes a message and those that are there behind it; false when the client must read before more is written. */
function writeReady<T>(
  call: StreamCall,
  first: T,
  reader: EventIterator<T>,
  encode: (message: T) => Buffer,
): boolean {
  let hasRoom = call.write(encode(first));
  for (let count = 1; hasRoom && count < BATCH; count += 1) {
    const message = reader.take?.();
    if (message === undefined) return true;
    hasRoom = call.write(encode(message));
  }
  return hasRoom;
}

/** Ends a stream with an error. (For grpc-js the event is the way to do so; it does not destroy the stream.) */
export function fail(call: StreamCall, error: A2AError): void {
  call.emit("error", toGrpcStatus(error));
}

/** A full buffer: waits until it is empty or the call is over. grpc-js drops what is written to a cancelled call. */
function drained(call: StreamCall, caller: AbortState): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      call.off("drain", settle);
      caller.removeEventListener("abort", settle);
      resolve();
    };
    if (caller.aborted) settle();
    call.on("drain", settle);
    caller.addEventListener("abort", settle);
  });
}
