import { createModuleLoader } from "../agents/module.js";
import { explainConfig } from "../config/explain.js";
import { complain, say } from "./console.js";
import { type ConfigFlags, loadFromFlags } from "./flags.js";
import { loadSetup } from "./reload.js";

/** Prints the effective configuration and every problem, agents and cards included. Returns the exit code. */
export async function check(flags: ConfigFlags): Promise<number> {
  const loaded = loadFromFlags(flags);
  const { problems } = await loadSetup(loaded, createModuleLoader());
  say(...explainConfig(loaded));
  complain(...problems);
  return problems.length === 0 ? 0 : 1;
}
