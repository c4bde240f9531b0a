import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Where each run leaves `<name>.json` with what it counted; summary.mjs adds them up. */
export const REPORTS = join(ROOT, ".tmp", "reports");

/**
 * Runs a program of the project and resolves with its exit code and, with `capture`, what it printed.
 *
 * @param {readonly string[]} command
 * @param {{ capture?: boolean, env?: NodeJS.ProcessEnv, cwd?: string }} [options]
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run([program, ...args], { capture = false, env = {}, cwd = ROOT } = {}) {
  const path = `${join(ROOT, "node_modules", ".bin")}${delimiter}${process.env.PATH}`;
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, PATH: path, ...env },
      stdio: ["ignore", capture ? "pipe" : "inherit", capture ? "pipe" : "inherit"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (piece) => (output += piece));
    child.on("error", (error) => resolve({ code: 127, output: `${program}: ${error.message}` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * @param {string} name
 * @param {{ passed: number, failed: number, skipped: number }} counts
 */
export function report(name, counts) {
  mkdirSync(REPORTS, { recursive: true });
  writeFileSync(join(REPORTS, `${name}.json`), `${JSON.stringify(counts)}\n`);
}
