import type { JsonObject } from "@bufbuild/protobuf";
import { formatProblems } from "../config/load.js";
import type { Config } from "../config/schema.js";
import { duration } from "../config/values.js";
import { createGateway } from "../gateway.js";
import { callAdmin } from "../server/admin-socket.js";
import { PRUNABLE_STATES, pruneRule } from "./admin-commands.js";
import { complain, lineOf, say } from "./console.js";
import { type ConfigFlags, loadFromFlags } from "./flags.js";
import { storeChoice } from "./wiring.js";

/** How `switchyard tasks prune` is asked. */
export interface PruneFlags extends ConfigFlags {
  /** Age of a task's last status: milliseconds, or a text such as `7d`. */
  readonly olderThan: string;
  /** Names of states; unset: those of tasks that have ended. */
  readonly state?: readonly string[];
  readonly tenant?: string;
  /** Confirms an age of 0. */
  readonly yes?: boolean;
}

/** Forgets old tasks: through the running gateway, or in its file when none runs. Returns the exit code. */
export async function pruneTasks(flags: PruneFlags): Promise<number> {
  const { config, problems } = loadFromFlags(flags);
  const parameters = parametersOf(flags);
  if (config === undefined) complain(...formatProblems(problems));
  if (typeof parameters === "string") complain(parameters);
  if (config === undefined || typeof parameters === "string") return 1;
  try {
    say(`${await prune(config, parameters)} tasks forgotten`);
    return 0;
  } catch (error) {
    complain(lineOf(error));
    return 1;
  }
}

/** What is sent to the gateway, or what is wrong with the flags. */
function parametersOf({ olderThan, state, tenant, yes }: PruneFlags): JsonObject | string {
  const age = duration(0, Number.MAX_SAFE_INTEGER).safeParse(olderThan);
  if (!age.success) return `--older-than ${age.error.issues[0]?.message}.`;
  if (age.data === 0 && yes !== true) {
    return "--older-than 0 forgets tasks of any age; say --yes as well if that is meant.";
  }
  const unknown = state?.find((name) => !PRUNABLE_STATES.has(name));
  if (unknown !== undefined) {
    return `--state must be one of ${[...PRUNABLE_STATES.keys()].join(", ")}, not ${unknown}.`;
  }
  return {
    olderThanMs: age.data,
    ...(state !== undefined && { states: [...state] }),
    ...(tenant !== undefined && { tenant }),
  };
}

async function prune(config: Config, parameters: JsonObject): Promise<number> {
  if (config.adminSocket !== "off") {
    const answer = await callAdmin(config.adminSocket, { command: "tasks.prune", parameters });
    if (answer !== undefined) return (answer.result as { pruned: number }).pruned;
  }
  return await pruneFile(config, parameters);
}

/** A gateway without ports is the way to the file: it alone knows the stores. */
async function pruneFile(config: Config, parameters: JsonObject): Promise<number> {
  const store = storeChoice(config);
  if ("kind" in store && store.kind === "memory") {
    throw new Error("no gateway is running, and tasks in memory ended with it.");
  }
  const gateway = await createGateway({ agents: [], http: false, grpc: false, metrics: false, store });
  try {
    return await gateway.prune([pruneRule(parameters)]);
  } finally {
    await gateway.close();
  }
}
