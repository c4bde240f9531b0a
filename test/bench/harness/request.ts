/** Digits in a request that the generator replaces, so that no two calls carry the same message id. */
export const SLOT = "0000000000000000";

/** One request, as bytes: what the generator sends again and again. */
export type RequestSpec =
  | {
      readonly kind: "http";
      readonly port: number;
      readonly method: "GET" | "POST";
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
      /** True: the answer is an event stream, and its events are counted. */
      readonly stream: boolean;
    }
  | {
      readonly kind: "grpc";
      readonly port: number;
      readonly path: string;
      /** The protobuf message, without its five-byte prefix. */
      readonly body: Uint8Array;
      readonly stream: boolean;
    };

/** What came back. */
export interface Reply {
  /** Why the call failed on its wire; undefined when it did not. */
  readonly failure: string | undefined;
  readonly bytes: number;
  /** Events of a stream; 0 for other answers. */
  readonly events: number;
  /** The answer itself when it was asked for; gRPC messages with their prefixes. */
  readonly body?: Uint8Array;
}

/** How a call is watched. */
export interface CallOptions {
  /** Called with the number of events that just arrived. */
  readonly onEvents?: (count: number) => void;
  /** Keep the body of the answer. Default false. */
  readonly keep?: boolean;
}

/** Sends one request repeatedly, over connections of its own. */
export interface Caller {
  call(options?: CallOptions): Promise<Reply>;
  /** Breaks all connections. */
  close(): void;
}

/** Bytes whose slot can be filled. */
export function createFiller(bytes: Buffer): (sequence: number) => Buffer {
  const at = bytes.indexOf(SLOT);
  return (sequence) => {
    const copy = Buffer.from(bytes);
    if (at >= 0) copy.write(String(sequence).padStart(SLOT.length, "0"), at, "latin1");
    return copy;
  };
}

let sequence = Date.now() * 1000;
/** A number that no earlier call had. */
export function nextSequence(): number {
  sequence += 1;
  return sequence;
}
