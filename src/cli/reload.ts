import type { Logger } from "pino";
import type { ModuleLoader } from "../agents/module.js";
import { formatProblems, type LoadedConfig } from "../config/load.js";
import type { Config } from "../config/schema.js";
import type { GatewayAgent } from "../gateway.js";
import { type LoadedAgents, loadAgents } from "./agents.js";
import { lineOf } from "./console.js";

/** A configuration with its agents, or every problem of it. */
export interface Setup {
  /** Absent when there are problems. */
  readonly config?: Config;
  readonly agents: readonly GatewayAgent[];
  /** One line each. */
  readonly problems: readonly string[];
  /** Files whose change may change it. */
  readonly files: readonly string[];
}

/** Reads a configuration and loads its agents. */
export async function loadSetup(loaded: LoadedConfig, loader: ModuleLoader): Promise<Setup> {
  const { config, files, problems } = loaded;
  if (config === undefined) return { agents: [], problems: formatProblems(problems), files };
  const agents: LoadedAgents = await loadAgents(config, loader);
  const located = agents.problems.map((problem) => {
    const origin = loaded.origin(problem.path) ?? loaded.origin(problem.path.slice(0, -1));
    return origin === undefined ? problem : { ...problem, origin };
  });
  return {
    ...(located.length === 0 && { config }),
    agents: agents.agents,
    problems: formatProblems(located),
    files: [...files, ...agents.files],
  };
}

/** Exchanges the agents of a running gateway. */
export interface Reloader {
  /** Asks for a reload; those asked for while one runs become one. Never rejects. */
  request(): void;
}

/** What a reload reads and changes. */
export interface ReloaderOptions {
  readonly logger: Logger;
  /** The configuration that the gateway was started with. */
  readonly running: Config;
  load(): Promise<Setup>;
  /** Puts new agents in place of the old ones. */
  apply(setup: Setup & { readonly config: Config }): void;
}

/** Checks a new configuration first; on a problem all stays as it was. */
export function createReloader(options: ReloaderOptions): Reloader {
  const { logger } = options;
  let busy = false;
  let again = false;

  async function reload(): Promise<void> {
    const setup = await options.load();
    const { config } = setup;
    if (config === undefined) {
      logger.error({ problems: setup.problems }, "the new configuration has problems; the old one stays");
      return;
    }
    options.apply({ ...setup, config });
    logger.info({ tenants: config.agents.map(({ tenant }) => tenant) }, "the configuration was read again");
    const waiting = changedSettings(options.running, config);
    if (waiting.length > 0) logger.warn({ settings: waiting }, "these settings take a restart");
  }

  async function run(): Promise<void> {
    do {
      again = false;
      await reload().catch((error: unknown) => {
        logger.error({ err: error, reason: lineOf(error) }, "the configuration could not be read again");
      });
    } while (again);
    busy = false;
  }

  return {
    request() {
      again = true;
      if (busy) return;
      busy = true;
      void run();
    },
  };
}

/** Names of the settings that differ, less those that are taken over: agents and certificates. */
function changedSettings(before: Config, after: Config): string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof Config)[];
  return keys.filter((key) => lasting(before, key) !== lasting(after, key));
}

/** What of a setting stays as it was at the start. Of TLS: that it is there, and that clients are asked for certificates. */
function lasting(config: Config, key: keyof Config): string | undefined {
  if (key === "agents") return undefined;
  if (key !== "tls") return JSON.stringify(config[key]);
  return config.tls && `clients are ${config.tls.clientCa === undefined ? "not " : ""}asked`;
}
