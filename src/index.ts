/** The library: a gateway to embed, and what agents and callers of it are made of. */

export type { AgentEntry, AgentPolicy } from "./agents/agent.js";
export * from "./agents/author.js";
export { createEchoAgent } from "./agents/echo.js";
export type { Call, CallContext, Reply, Wire } from "./core/context.js";
export type { Authenticate, Middleware, Next } from "./core/middleware.js";
export {
  A2AError,
  ERRORS,
  type ErrorOptions,
  type ErrorRow,
  type FieldViolation,
  type Reason,
} from "./errors.js";
export {
  type Addresses,
  createGateway,
  type Gateway,
  type GatewayAgent,
  type GatewayLimits,
  type GatewayOptions,
  type GatewayStatus,
  type ListenAddress,
} from "./gateway.js";
export * from "./protocol/schema.js";
export { createMemoryStore, createSqliteStore } from "./stores/index.js";
export type { FullTaskStore, Scope } from "./stores/task-store.js";
