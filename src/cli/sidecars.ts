import type { Logger } from "pino";
import { createStallWatch, type StallWatch, type WatchedAgent } from "../agents/stall-watch.js";
import type { Config } from "../config/schema.js";
import type { Gateway } from "../gateway.js";
import { type AdminSocket, openAdminSocket } from "../server/admin-socket.js";
import { adminCommands } from "./admin-commands.js";
import { lineOf } from "./console.js";
import type { CrashGuard } from "./crash-guard.js";
import { createFileWatch } from "./file-watch.js";
import { createReloader, type Setup } from "./reload.js";

/** What runs beside a serving gateway. */
export interface SidecarOptions {
  readonly config: Config;
  readonly setup: Setup;
  readonly gateway: Gateway;
  readonly logger: Logger;
  readonly guard: CrashGuard;
  load(): Promise<Setup>;
}

/** The admin socket, hot reload and the watch over agents. Returns what ends them, in two steps. */
export interface Sidecars {
  /** From now on the configuration is not read again. */
  settle(): void;
  close(): Promise<void>;
}

/** Starts them; what cannot be had is logged and done without. */
export async function startSidecars(options: SidecarOptions): Promise<Sidecars> {
  const { config, setup, gateway, logger, guard, load } = options;
  const admin = await openAdmin(config, gateway, logger);
  const stalls = createStalls(config, logger);
  const reloader = createReloader({
    logger,
    running: config,
    load,
    apply(next) {
      if (next.config.tls !== undefined) gateway.renewTls(next.config.tls);
      gateway.replaceAgents(next.agents);
      follow(next);
    },
  });
  const files = createFileWatch({
    onChange: reloader.request,
    onFault: (cause) =>
      logger.warn({ err: cause }, "a folder cannot be watched for changes; SIGHUP still works"),
  });
  function follow(next: Setup): void {
    const agents = watchedAgents(next);
    guard.watch(agents);
    stalls.watch(agents);
    files.follow(next.files);
  }
  follow(setup);
  process.on("SIGHUP", reloader.request);
  return {
    settle() {
      process.off("SIGHUP", reloader.request);
      process.on("SIGHUP", ignore);
      files.close();
    },
    async close() {
      process.off("SIGHUP", ignore);
      await Promise.all([admin?.close(), stalls.stop()]);
    },
  };
}

function ignore(): void {}

async function openAdmin(
  { adminSocket }: Config,
  gateway: Gateway,
  logger: Logger,
): Promise<AdminSocket | undefined> {
  if (adminSocket === "off") return undefined;
  try {
    return await openAdminSocket({ path: adminSocket, commands: adminCommands(gateway) });
  } catch (error) {
    logger.warn(`no admin socket: ${lineOf(error)}`);
    return undefined;
  }
}

function watchedAgents({ config }: Setup): WatchedAgent[] {
  return (config?.agents ?? []).flatMap(({ tenant, file }) => (file === undefined ? [] : [{ tenant, file }]));
}

/** The thread is started when there is the first agent to watch. */
function createStalls({ runs: { stallMs } }: Config, logger: Logger): StallWatch {
  let watch: StallWatch | undefined;
  return {
    watch(agents) {
      if (stallMs === "off" || (watch === undefined && agents.length === 0)) return;
      const onFault = (cause: unknown) =>
        logger.warn({ err: cause }, "nothing watches for agents that stand still");
      watch ??= createStallWatch({ stallMs, onFault });
      watch.watch(agents);
    },
    stop: async () => await watch?.stop(),
  };
}
