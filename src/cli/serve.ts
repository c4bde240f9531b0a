import type { Logger } from "pino";
import { createModuleLoader } from "../agents/module.js";
import type { Config } from "../config/schema.js";
import { formatAddress } from "../config/values.js";
import { type Addresses, createGateway, type Gateway, type GatewayAgent } from "../gateway.js";
import { DOCS_PATH } from "../server/docs-paths.js";
import { columns, complain, lineOf, say } from "./console.js";
import { createCrashGuard } from "./crash-guard.js";
import { type ConfigFlags, loadFromFlags } from "./flags.js";
import { createLog } from "./log.js";
import { loadSetup } from "./reload.js";
import { startSidecars } from "./sidecars.js";
import { createStopSignals } from "./stop-signals.js";
import { readVersion } from "./version.js";
import { gatewayOptions } from "./wiring.js";

/** Runs a gateway until a signal ends it. Returns the exit code. */
export async function serve(flags: ConfigFlags): Promise<number> {
  const loader = createModuleLoader();
  let source = flags;
  const load = () => {
    const loaded = loadFromFlags(source);
    // A file that was found once stays the configuration: the defaults must not replace it while it is gone.
    if (loaded.file !== undefined) source = { ...flags, config: loaded.file };
    return loadSetup(loaded, loader);
  };
  const setup = await load();
  const { config } = setup;
  if (config === undefined) {
    complain(...setup.problems);
    return 1;
  }
  const logger = createLog(config.log);
  const exit = (code: number) => {
    logger.flush();
    process.exit(code);
  };
  const guard = createCrashGuard(logger, exit);
  const signals = createStopSignals(logger, exit);
  try {
    const gateway = await createGateway(gatewayOptions(config, setup.agents, logger));
    const addresses = await start(gateway);
    const sidecars = await startSidecars({ config, setup, gateway, logger, guard, load });
    announce(addresses, setup.agents);
    const signal = await signals.first;
    sidecars.settle();
    await Promise.all([logStop(logger, signal, gateway, config), gateway.drain()]);
    await sidecars.close();
    return 0;
  } catch (error) {
    complain(startProblem(error));
    return 1;
  } finally {
    signals.close();
    guard.close();
    logger.flush();
  }
}

/** A gateway that could not open all its ports closes those that it did open. */
async function start(gateway: Gateway): Promise<Addresses> {
  try {
    return await gateway.start();
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

/** What the end waits for. A store that cannot be read any more takes the numbers with it, and nothing else. */
async function logStop(
  logger: Logger,
  signal: NodeJS.Signals,
  gateway: Gateway,
  { drainMs }: Config,
): Promise<void> {
  const { runs, openStreams } = await gateway
    .status()
    .catch(() => ({ runs: undefined, openStreams: undefined }));
  const hint = "a second signal ends it at once";
  logger.info({ signal, runs, openStreams, drainMs, hint }, "stopping");
}

function startProblem(error: unknown): string {
  const { code, address = "", port } = error as { code?: string; address?: string; port?: number };
  const place = port === undefined ? address : formatAddress({ host: address, port });
  if (code === "EADDRINUSE") return `${place} is in use by another program.`;
  if (code === "EADDRNOTAVAIL") return `${place} is no address of this machine.`;
  if (code === "EACCES" && port !== undefined) return `${place} may not be used by this user.`;
  return lineOf(error);
}

function announce(
  { http, grpc, metrics, public: reachable }: Addresses,
  agents: readonly GatewayAgent[],
): void {
  const rows = [
    ...(http ? [["HTTP", `${http.url}  JSON-RPC, REST, Connect, gRPC-Web`]] : []),
    ...(http ? [["docs", `${http.url}${DOCS_PATH}`]] : []),
    ...(grpc ? [["gRPC", formatAddress(grpc)]] : []),
    ...(metrics ? [["metrics", `http://${formatAddress(metrics)}/metrics`]] : []),
    ...agents.map(({ tenant = "", agent }) => [
      "card",
      `${cardUrl(reachable.url, tenant)}  ${agent.card.name}`,
    ]),
  ];
  // Whoever reads this may be gone already; the gateway is not there for its greeting.
  process.stdout.on("error", () => undefined);
  say(`Switchyard ${readVersion()}`, ...columns(rows).map((line) => `  ${line}`));
}

function cardUrl(base: string, tenant: string): string {
  return `${base}${tenant === "" ? "" : `/${tenant}`}/.well-known/agent-card.json`;
}
