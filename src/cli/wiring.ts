import type { Logger } from "pino";
import type { Config } from "../config/schema.js";
import { formatAddress } from "../config/values.js";
import type { RetentionRule } from "../core/retention.js";
import type { GatewayAgent, GatewayOptions } from "../gateway.js";
import { TaskState } from "../protocol/schema.js";

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

/** States of tasks that wait for their user. */
const WAITING = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

function retentionOf({ retention }: Config): NonNullable<GatewayOptions["retention"]> {
  const { finishedMs, waitingMs, messageIdsMs } = retention;
  const rules: RetentionRule[] = [];
  if (finishedMs !== "off") rules.push({ maxAgeMs: finishedMs });
  if (waitingMs !== "off") rules.push({ maxAgeMs: waitingMs, states: WAITING });
  return { rules, ...(messageIdsMs !== "off" && { messageKeyMaxAgeMs: messageIdsMs }) };
}
