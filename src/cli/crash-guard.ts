import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import type { WatchedAgent } from "../agents/stall-watch.js";

/** What keeps errors outside of any turn from ending the process. */
export interface CrashGuard {
  /** Agents whose code may throw; replaces those named before. */
  watch(agents: readonly WatchedAgent[]): void;
  close(): void;
}

/** Folder of this program's own code. */
const PROGRAM = fileURLToPath(new URL("..", import.meta.url));

/**
 * Takes errors that nobody caught: those of agents are logged with the agent's name, and the process goes on.
 * An error of this program itself is logged and ends it with 1, since its state is unknown then.
 */
export function createCrashGuard(logger: Logger, exit: (code: number) => void): CrashGuard {
  let agents: readonly WatchedAgent[] = [];

  function onError(error: unknown, kind: string): void {
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    const agent =
      agents.find(({ file }) => stack.includes(file)) ?? agents.find(({ file }) => isBeside(file, stack));
    if (agent !== undefined) {
      logger.error(
        { tenant: agent.tenant, agent: agent.file, err: error },
        `an agent left an error uncaught: ${kind}`,
      );
    } else if (agents.length > 0 && !stack.includes(PROGRAM)) {
      logger.error({ err: error }, `one of the agents left an error uncaught: ${kind}`);
    } else {
      logger.fatal({ err: error }, `the gateway has a fault and ends: ${kind}`);
      exit(1);
    }
  }

  const onException = (error: unknown) => onError(error, "exception");
  const onRejection = (error: unknown) => onError(error, "rejected promise");
  process.on("uncaughtException", onException);
  process.on("unhandledRejection", onRejection);
  return {
    watch(next) {
      agents = next;
    },
    close() {
      process.off("uncaughtException", onException);
      process.off("unhandledRejection", onRejection);
    },
  };
}

/** True when a stack goes through a file in the agent's folder. */
function isBeside(file: string, stack: string): boolean {
  const folder = dirname(file) + sep;
  return stack
    .split("\n")
    .some((line) => line.includes(folder) && !line.includes(`${sep}node_modules${sep}`));
}
