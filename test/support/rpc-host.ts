import { createConnectBinding } from "../../src/bindings/connect/index.js";
import { createGrpcBinding } from "../../src/bindings/grpc/index.js";
import type { Call, Reply } from "../../src/core/context.js";
import { A2AError } from "../../src/errors.js";
import type { WireEvent } from "../../src/protocol/event.js";
import { A2AService } from "../../src/protocol/schema.js";
import { createGrpcHost, type GrpcHost, type GrpcHostOptions } from "../../src/server/grpc-host.js";
import { createHttpHost, type HttpHost } from "../../src/server/http-host.js";
import { createSideServices, type SideServices } from "../../src/server/side-services.js";
import { type FakeDispatcher, fakeDispatcher } from "./fake-dispatcher.js";

/** Both ports of a gateway that has a fake dispatcher in its middle. */
export interface RpcHosts {
  readonly dispatcher: FakeDispatcher;
  readonly sides: SideServices;
  readonly http: HttpHost;
  readonly grpc: GrpcHost;
  readonly httpPort: number;
  readonly grpcPort: number;
  close(): Promise<void>;
}

export interface RpcHostsOptions {
  /** How calls are answered. Default: the task `t1`. */
  readonly answer?: (call: Call) => Reply | Promise<Reply>;
  /** Default 100 000. */
  readonly maxBytes?: number;
  readonly tls?: GrpcHostOptions["tls"];
}

export async function startRpcHosts(options: RpcHostsOptions = {}): Promise<RpcHosts> {
  const { maxBytes = 100_000, tls } = options;
  const dispatcher = fakeDispatcher(options.answer);
  const sides = createSideServices([A2AService]);
  const common = { dispatcher, sides: sides.all };
  const http = createHttpHost({ bindings: [createConnectBinding({ ...common, maxBytes })] });
  const grpc = createGrpcHost({
    binding: createGrpcBinding(common),
    maxBytes,
    ...(tls && { tls }),
  });
  const [{ port: httpPort }, { port: grpcPort }] = await Promise.all([
    http.listen(0, "127.0.0.1"),
    grpc.listen({ host: "127.0.0.1", port: 0 }),
  ]);
  const close = async () => {
    await Promise.all([http.close(), grpc.close()]);
  };
  return { dispatcher, sides, http, grpc, httpPort, grpcPort, close };
}

/** One event and then nothing until the reader leaves; it takes no notice of any signal. */
export interface IdleEvents {
  readonly events: AsyncIterable<WireEvent>;
  /** Resolves when the second event is asked for. */
  readonly idle: Promise<void>;
  /** Resolves to the time at which the reader was closed. */
  readonly closed: Promise<number>;
}

export function createIdleEvents(first: WireEvent): IdleEvents {
  let pulled: () => void = () => undefined;
  let close: (at: number) => void = () => undefined;
  const idle = new Promise<void>((resolve) => {
    pulled = resolve;
  });
  const closed = new Promise<number>((resolve) => {
    close = resolve;
  });
  let count = 0;
  const iterator: AsyncIterator<WireEvent> = {
    next() {
      if (count++ === 0) return Promise.resolve({ done: false, value: first });
      pulled();
      return new Promise(() => undefined);
    },
    return() {
      close(Date.now());
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { events: { [Symbol.asyncIterator]: () => iterator }, idle, closed };
}

/** An error that carries everything that an error can. */
export function richError(): A2AError {
  return new A2AError("TASK_NOT_FOUND", {
    text: "Kein Task «t1»: 100 % weg\n(zweite Zeile) \u{1F680}",
    metadata: { taskId: "t1" },
    violations: [{ field: "id", description: "names nothing" }],
    retryAfterMs: 1_500,
    errorId: "e-1",
  });
}
