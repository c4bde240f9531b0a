import pino, { type Logger } from "pino";
import type { AgentEntry, AgentPolicy } from "./agents/agent.js";
import {
  createDirectory,
  createReplaceableDirectory,
  type ReplaceableDirectory,
} from "./agents/directory.js";
import { createConnectBinding } from "./bindings/connect/index.js";
import { createGrpcBinding } from "./bindings/grpc/index.js";
import type { HttpBinding } from "./bindings/http.js";
import { createJsonRpcBinding } from "./bindings/jsonrpc/index.js";
import { createRestBinding } from "./bindings/rest/index.js";
import { buildCards, type PublicAddresses } from "./core/cards.js";
import type { Dispatcher } from "./core/context.js";
import { createEngine, type Engine } from "./core/engine.js";
import { createGate } from "./core/gate.js";
import { createRetention, type RetentionRule } from "./core/retention.js";
import type { Fault } from "./core/run.js";
import { A2AError } from "./errors.js";
import type {
  Addresses,
  GatewayAgent,
  GatewayOptions,
  GatewayStatus,
  ListenAddress,
} from "./gateway-options.js";
import { createMemoryHub } from "./hub/memory.js";
import { DEEPEST } from "./protocol/depth.js";
import { A2AService, TaskState } from "./protocol/schema.js";
import { createAccessLog } from "./server/access-log.js";
import { createGrpcHost } from "./server/grpc-host.js";
import { createHttpHost, type HttpHost } from "./server/http-host.js";
import { createMetrics, type Metrics } from "./server/metrics.js";
import type { RequestListener } from "./server/node-request.js";
import { publicAddresses, urlOf } from "./server/public-addresses.js";
import { shuttingDown } from "./server/settles.js";
import { createSideServices, type SideServices } from "./server/side-services.js";
import type { ServerTls } from "./server/tls.js";
import { createMemoryStore, createSqliteStore } from "./stores/index.js";
import type { FullTaskStore } from "./stores/task-store.js";

export type {
  Addresses,
  GatewayAgent,
  GatewayLimits,
  GatewayOptions,
  GatewayStatus,
  ListenAddress,
} from "./gateway-options.js";

/** A gateway: agents on one side, every binding on the other. */
export interface Gateway {
  /** Opens the ports. Rejects with Node's own error when an address cannot be had; call `close` then. */
  start(): Promise<Addresses>;
  /** Listener for `http.createServer(gateway.serve)`, when the gateway has no HTTP port of its own. */
  readonly serve: RequestListener;
  /** Exchanges the agents. Turns that run keep the agent they began with. Throws an Error when two share a tenant. */
  replaceAgents(agents: readonly GatewayAgent[]): void;
  /**
   * Gives new connections this certificate; those that are open keep theirs, and whether clients are asked for one
   * stays as it was. Throws Node's own error, and changes nothing, when certificate and key do not fit.
   */
  renewTls(tls: ServerTls): void;
  /** Forgets tasks by these rules now; returns how many. */
  prune(rules: readonly RetentionRule[]): Promise<number>;
  status(): Promise<GatewayStatus>;
  /** Refuses new calls, lets open ones end, stops the agents, records how their tasks ended, and closes. */
  drain(): Promise<void>;
  /** The same without waiting for anybody. */
  close(): Promise<void>;
}

const DEFAULT_HTTP: ListenAddress = { host: "127.0.0.1", port: 8080 };
const DEFAULT_GRPC: ListenAddress = { host: "127.0.0.1", port: 50051 };
const DEFAULT_MESSAGE_BYTES = 10 * 1024 * 1024;
/** By then the pages are loaded even when nobody has asked: a first probe must not find the process out of files. */
const PAGES_AFTER_MS = 1_000;
const DEFAULT_POLICY: AgentPolicy = {
  busy: "reject",
  followUps: "resume",
  concurrency: "many",
  idempotency: true,
};

/**
 * The composition root: the only place that knows which implementation stands behind which port. Rejects with a
 * RangeError for a depth beyond its bounds, and when the store cannot be opened.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  checkDepth(options.limits?.depth);
  let agents = options.agents;
  const core = await createCore(options, () => agents);
  const { directory, engine, store, retention } = core;
  let state: GatewayStatus["state"] = "starting";
  let addresses: Addresses | undefined;
  let stopped: Promise<void> | undefined;
  const ports = createPorts(options, core, {
    state: () => state,
    servers: () => (addresses ? [addresses.public.url] : []),
  });

  function install(next: readonly GatewayAgent[], at: PublicAddresses): void {
    directory.replace(createDirectory(next.map((agent) => entryOf(agent, at, options))));
    agents = next;
  }

  async function stop(graceMs: number): Promise<void> {
    state = "draining";
    retention.stop();
    await ports.drain(graceMs);
    await engine.runs.shutdown(Math.min(graceMs, options.streams?.cancelGraceMs ?? 3_000));
    await store.close();
    state = "stopped";
  }

  return {
    async start() {
      addresses = await ports.listen();
      install(agents, addresses.public);
      await engine.recover();
      retention.start();
      state = "serving";
      ports.open();
      return addresses;
    },
    serve: ports.serve,
    replaceAgents(next) {
      if (addresses === undefined) agents = next;
      else install(next, addresses.public);
    },
    renewTls: ports.renew,
    prune: (rules) =>
      createRetention({
        store,
        rules: () => rules,
        onDeleted: () => void engine.log.recheck(),
        onFault: () => undefined,
        ...clockOf(options),
      }).sweep(),
    async status() {
      const counts = state === "stopped" ? [] : await store.countByState();
      return {
        state,
        addresses,
        tenants: directory.list().map((entry) => entry.tenant),
        tasks: Object.fromEntries([...counts].map(([key, count]) => [TaskState[key] ?? String(key), count])),
        runs: engine.runs.list().length,
        openStreams: engine.log.readerCount(),
      };
    },
    drain: () => (stopped ??= stop(options.drainMs ?? 10_000)),
    async close() {
      if (state === "draining") await ports.close();
      stopped ??= stop(0);
      await stopped;
    },
  };
}

function checkDepth(depth: number | undefined): void {
  if (depth !== undefined && !(depth >= 1 && depth <= DEEPEST))
    throw new RangeError(`limits.depth must be from 1 to ${DEEPEST}`);
}

/** Everything behind the ports. */
interface Core {
  readonly engine: Engine;
  readonly store: FullTaskStore;
  readonly directory: ReplaceableDirectory;
  readonly retention: ReturnType<typeof createRetention>;
  readonly metrics: Metrics | undefined;
  readonly logger: Logger;
}

async function createCore(options: GatewayOptions, agents: () => readonly GatewayAgent[]): Promise<Core> {
  const logger = options.logger ?? pino({ level: "silent" });
  const directory = createReplaceableDirectory(createDirectory([]));
  const opened = openStore(options.store);
  const metrics = options.metrics === false ? undefined : await createMetrics();
  const store = metrics?.timed(opened) ?? opened;
  const observers = [createAccessLog(logger), ...(metrics ? [metrics.observer] : [])];
  const engine = createEngine({
    store,
    hub: createMemoryHub(),
    directory,
    observers,
    ...engineOptions(options, logger),
  });
  metrics?.watch({
    runStates: () => engine.runs.list().map(({ state }) => state),
    readerCount: () => engine.log.readerCount(),
    countByState: () => store.countByState(),
  });
  const { rules = [], messageKeyMaxAgeMs } = options.retention ?? {};
  const retention = createRetention({
    store,
    rules: () => [...rules, ...agents().flatMap(ownRules)],
    onDeleted: () => void engine.log.recheck(),
    onFault: (cause) => logger.error({ err: cause }, "retention sweep failed"),
    ...(messageKeyMaxAgeMs !== undefined && { messageKeyMaxAgeMs }),
    ...clockOf(options),
  });
  return { engine, store, directory, retention, metrics, logger };
}

function ownRules({ tenant = "", retention = [] }: GatewayAgent): RetentionRule[] {
  return retention.map((rule) => ({ ...rule, tenant }));
}

function openStore(choice: GatewayOptions["store"]): FullTaskStore {
  if (choice === undefined) return createSqliteStore({ path: ".switchyard/switchyard.db" });
  if (!("kind" in choice)) return choice;
  if (choice.kind === "memory") return createMemoryStore();
  const { path, durability } = choice;
  return createSqliteStore({ path, ...(durability && { durability }) });
}

function engineOptions(options: GatewayOptions, logger: Logger) {
  const { answerGraceMs, cancelGraceMs } = options.streams ?? {};
  const { middleware, authenticate, versions, limits } = options;
  return {
    onFault: ({ cause, ...fault }: Fault) => logger.error({ ...fault, err: cause }, "agent fault"),
    ...(middleware && { middleware }),
    ...(authenticate && { authenticate }),
    ...(versions?.assume && { assumeVersion: versions.assume }),
    ...(answerGraceMs !== undefined && { answerGraceMs }),
    ...(cancelGraceMs !== undefined && { cancelGraceMs }),
    ...(limits?.metadataBytes !== undefined && { maxMetadataBytes: limits.metadataBytes }),
    ...clockOf(options),
  };
}

function clockOf({ now }: GatewayOptions) {
  return now ? { now } : {};
}

/** What changes while a gateway lives. */
interface Live {
  state(): GatewayStatus["state"];
  /** Base URLs of the HTTP port. */
  servers(): readonly string[];
}

/** The listeners of a gateway. */
interface Ports {
  readonly serve: RequestListener;
  listen(): Promise<Addresses>;
  renew(tls: ServerTls): void;
  /** From now on health says that calls are taken. */
  open(): void;
  drain(graceMs: number): Promise<void>;
  /** Cuts everything at once. */
  close(): Promise<void>;
}

function createPorts(options: GatewayOptions, core: Core, live: Live): Ports {
  const { metrics, logger } = core;
  const report = (error: A2AError) =>
    logger.error({ errorId: error.errorId, err: error.cause ?? error }, "fault");
  const sides = createSideServices([A2AService]);
  sides.health.setServing(false);
  const dispatcher = createGate(core.engine.dispatcher, () => refusalIn(live.state()));
  const http = createHttpHost({
    ...httpRoutes(options, core, { ...live, dispatcher, sides, report }),
    report,
    ...httpOptions(options),
  });
  const grpc = createGrpcHost({
    binding: createGrpcBinding({
      dispatcher,
      sides: sides.all,
      maxDepth: options.limits?.depth,
    }),
    maxBytes: options.limits?.messageBytes ?? DEFAULT_MESSAGE_BYTES,
    ...(options.tls && { tls: options.tls }),
  });
  let loading: NodeJS.Timeout | undefined;
  const failed = (thrown: unknown) => report(A2AError.from(thrown));
  const metricsAddress = typeof options.metrics === "object" ? options.metrics : undefined;
  const metricsHost =
    metrics &&
    metricsAddress &&
    createHttpHost({
      bindings: [],
      pages: async () => (await loadPages()).createMetricsPages(metrics, report),
      report,
    });
  return {
    serve: http.serve,
    async listen() {
      const httpAt = options.http === false ? undefined : await listen(http, options.http ?? DEFAULT_HTTP);
      const grpcAt = options.grpc === false ? undefined : await grpc.listen(options.grpc ?? DEFAULT_GRPC);
      const metricsAt = metricsHost && metricsAddress && (await listen(metricsHost, metricsAddress));
      return {
        ...(httpAt && { http: { ...httpAt, url: urlOf(httpAt, options.tls !== undefined) } }),
        ...(grpcAt && { grpc: grpcAt }),
        ...(metricsAt && { metrics: metricsAt }),
        public: publicAddresses(options, httpAt, grpcAt),
      };
    },
    renew(tls) {
      http.renew(tls);
      grpc.renew(tls);
    },
    open() {
      sides.health.setServing(true);
      loading = setTimeout(() => void loadPages().catch(failed), PAGES_AFTER_MS).unref();
    },
    async drain(graceMs) {
      clearTimeout(loading);
      sides.health.end();
      await Promise.all([http.drain(graceMs), grpc.drain(graceMs)]);
      await metricsHost?.drain(0);
    },
    async close() {
      await Promise.all([http.close(), grpc.close(), metricsHost?.close()]);
    },
  };
}

/** Why no call is taken in this state; undefined when calls are. */
function refusalIn(state: GatewayStatus["state"]): A2AError | undefined {
  if (state === "serving") return undefined;
  return state === "starting"
    ? new A2AError("UNAVAILABLE", { text: "The gateway is starting." })
    : shuttingDown();
}

function httpOptions({ cors, tls, limits }: GatewayOptions) {
  return { ...(cors && { cors }), ...(tls && { tls }), ...(limits && { limits }) };
}

/** No call needs Express, and it takes longer to load than all bindings. */
function loadPages() {
  return import("./gateway-pages.js");
}

interface RouteParts extends Live {
  readonly dispatcher: Dispatcher;
  readonly sides: SideServices;
  report(error: A2AError): void;
}

/** Connect owns its path, JSON-RPC its few addresses, REST the shapes of its templates; the pages have the rest. */
function httpRoutes(
  options: GatewayOptions,
  core: Core,
  { state, servers, dispatcher, sides, report }: RouteParts,
) {
  const { directory, metrics, logger } = core;
  const maxBytes = options.limits?.messageBytes ?? DEFAULT_MESSAGE_BYTES;
  const maxDepth = options.limits?.depth;
  const common = { dispatcher, maxBytes, maxDepth, heartbeatMs: options.streams?.heartbeatMs };
  const connect = createConnectBinding({ dispatcher, maxBytes, maxDepth, sides: sides.all });
  const jsonrpc = createJsonRpcBinding(common);
  const rest = createRestBinding({ ...common, warn: (text) => logger.warn(text) });
  const mount = (prefixes: readonly string[] | undefined, binding: HttpBinding) =>
    (prefixes ?? []).map((prefix) => ({ prefix, binding }));
  return {
    bindings: [connect, jsonrpc, rest],
    mounts: [...mount(options.mounts?.jsonrpc, jsonrpc), ...mount(options.mounts?.rest, rest)],
    pages: async () =>
      (await loadPages()).createGatewayPages({
        gateway: options,
        agents: directory,
        metrics: typeof options.metrics === "object" ? undefined : metrics,
        ready: () => state() === "serving",
        servers,
        report,
      }),
  };
}

function entryOf(served: GatewayAgent, addresses: PublicAddresses, options: GatewayOptions): AgentEntry {
  const { tenant = "", agent, policy, extendedCardPublic = false, extendedCard, extensions } = served;
  const preference = options.cards?.preference;
  const cards = buildCards({
    tenant,
    card: agent.card,
    addresses,
    streaming: served.streaming ?? true,
    pushNotifications: false,
    announceExtendedCard: served.announceExtendedCard ?? false,
    ...(extendedCard && { extendedCard }),
    ...(extensions && { extensions }),
    ...(preference && { preference }),
  });
  return { tenant, agent, policy: { ...DEFAULT_POLICY, ...policy }, ...cards, extendedCardPublic };
}

async function listen(host: HttpHost, address: ListenAddress): Promise<ListenAddress> {
  const bound = await host.listen(address.port, address.host);
  return { host: bound.address, port: bound.port };
}
