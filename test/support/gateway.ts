import assert from "node:assert/strict";
import { createGateway, type Gateway, type GatewayOptions } from "../../src/gateway.js";
import type { WireAddresses } from "./wires/index.js";

/** A gateway that listens on free loopback ports. */
export interface TestGateway extends WireAddresses {
  readonly gateway: Gateway;
  close(): Promise<void>;
}

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** Starts a gateway with a memory store and short patience, unless told otherwise. */
export async function startGateway(options: GatewayOptions): Promise<TestGateway> {
  const gateway = await createGateway({
    http: LOOPBACK,
    grpc: LOOPBACK,
    store: { kind: "memory" },
    streams: { heartbeatMs: 60_000, answerGraceMs: 60, cancelGraceMs: 60 },
    drainMs: 100,
    now: createTickingClock(),
    ...options,
  });
  const { http, grpc } = await gateway.start();
  assert.ok(http && grpc, "both ports are open");
  return { http, grpc, gateway, close: () => gateway.close() };
}

/** A clock that never shows the same time twice, so that tasks have one order by time. */
export function createTickingClock(startMs = Date.UTC(2026, 0, 1)): () => number {
  let now = startMs;
  return () => {
    now += 1;
    return now;
  };
}
