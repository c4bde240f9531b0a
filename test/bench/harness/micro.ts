import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Timing } from "../micro/timed.js";
import { SERVER_CORE } from "./host.js";
import { COMPILED } from "./server.js";

/** Runs a program of `micro/` alone on the server's core. */
export function timings(name: string): readonly Timing[] {
  const program = [process.execPath, join(COMPILED, "micro", `${name}.js`)];
  const output = execFileSync("taskset", ["-c", String(SERVER_CORE), ...program], { encoding: "utf8" });
  return JSON.parse(output) as readonly Timing[];
}
