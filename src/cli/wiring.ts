import type { Logger } from "pino";
import type { Config } from "../config/schema.js";
import { formatAddress } from "../config/values.js";
import type { GatewayAgent, GatewayOptions } from "../gateway.js";
import { retentionRules } from "./retention.js";

/** A configuration as the gateway takes it. */
export function gatewayOptions(
  config: Config,
  agents: readonly GatewayAgent[],
  logger: Logger,
): GatewayOptions {
  const { grpc, metrics, tls, publicUrl, publicGrpc, runs, versions } = config;
  const { headersMs, requestMs, idleMs, ...sizes } = config.limits;
  return {
    agents,
    logger,
    http: config.http,
    grpc: grpc === "off" ? false : grpc,
    metrics: metrics === "off" ? false : metrics,
    store: storeChoice(config),
    limits: { ...sizes, headersTimeoutMs: headersMs, requestTimeoutMs: requestMs, idleTimeoutMs: idleMs },
    streams: { ...config.streams, answerGraceMs: runs.answerGraceMs, cancelGraceMs: runs.cancelGraceMs },
    cards: config.cards,
    mounts: config.mounts,
    cors: { origins: config.cors.origins.includes("*") ? "*" : config.cors.origins },
    retention: retentionOf(config),
    drainMs: config.drainMs,
    ...(tls && { tls }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(publicGrpc && { publicGrpc: formatAddress(publicGrpc) }),
    ...(versions.assume !== undefined && { versions: { assume: versions.assume } }),
  };
}

/** The store that a configuration names. */
export function storeChoice({ store }: Config): NonNullable<GatewayOptions["store"]> {
  return store.path === "memory" ? { kind: "memory" } : { kind: "sqlite", ...store };
}

function retentionOf({ retention }: Config): NonNullable<GatewayOptions["retention"]> {
  const { messageIdsMs } = retention;
  return {
    rules: retentionRules(retention),
    ...(messageIdsMs !== "off" && { messageKeyMaxAgeMs: messageIdsMs }),
  };
}
