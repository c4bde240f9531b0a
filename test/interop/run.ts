/**
 * Tries clients that others wrote on the gateway and prints one table: client and transport by operation.
 *
 * `--available` leaves out clients whose toolchain is not on the machine; without it, what is missing is
 * installed, and what cannot be is a failure. Further arguments choose clients by name.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { CLIENTS, type Client, type Command, ROOT, SCRATCH } from "./clients.js";
import { startGateway } from "./gateway.js";
import { formatTable, isNamed, judge, knownSchema, type Result, resultSchema } from "./results.js";

/** Longer than every operation of one client together. */
const CLIENT_LIMIT_MS = 300_000;

const PATH = `${join(ROOT, "node_modules", ".bin")}${delimiter}${process.env.PATH}`;

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

function run({ argv: [program = "", ...args], cwd = ROOT, env }: Command): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, PATH, ...env },
      stdio: ["ignore", "pipe", "inherit"],
      timeout: CLIENT_LIMIT_MS,
    });
    let output = "";
    child.stdout.on("data", (piece) => {
      output += piece;
    });
    child.on("error", (error) => resolve({ code: 127, output: error.message }));
    child.on("close", (code) => resolve({ code, output }));
  });
}

function installPackages(packages: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  console.log(`apt-get install ${packages.join(" ")}`);
  spawnSync("apt-get", ["update", "-qq"], { stdio: "inherit" });
  spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages], {
    stdio: "inherit",
  });
}

/** Why a client cannot be tried; undefined once it can. */
async function prepare(client: Client, availableOnly: boolean): Promise<string | undefined> {
  if (!availableOnly && client.missing() !== undefined) installPackages(client.packages);
  const missing = client.missing();
  if (missing !== undefined) return `${missing} is not on this machine`;
  if (client.installed?.()) return undefined;
  for (const step of client.install) {
    const { code, output } = await run(step);
    if (code !== 0) return `${step.argv.join(" ")} failed: ${output.trim()}`;
  }
  return undefined;
}

async function tryOut(client: Client, base: string): Promise<Result[]> {
  const { code, output } = await run(client.run(base));
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  const results = lines.map((line) => ({
    client: client.name,
    ...resultSchema.parse(JSON.parse(line)),
  }));
  if (code === 0 && results.length > 0) return results;
  const detail = `the program ended with ${code} after ${results.length} results`;
  return [...results, { client: client.name, transport: "", operation: "run", outcome: "failed", detail }];
}

const availableOnly = process.argv.includes("--available");
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const known = knownSchema.parse(
  JSON.parse(readFileSync(join(ROOT, "test", "interop", "known.json"), "utf8")),
);
mkdirSync(SCRATCH, { recursive: true });

const results: Result[] = [];
const leftOut: string[] = [];
const gateway = await startGateway();
try {
  for (const client of CLIENTS) {
    if (chosen.length > 0 && !chosen.some((name) => isNamed({ client: client.name }, name))) continue;
    const problem = await prepare(client, availableOnly);
    if (problem === undefined) results.push(...(await tryOut(client, gateway.base)));
    else leftOut.push(`${client.name}: ${problem}`);
  }
} finally {
  await gateway.stop();
}

const verdicts = results.map((result) => ({ result, verdict: judge(result, known) }));
const bad = verdicts.filter(({ verdict }) => verdict === "FAILED" || verdict === "FIXED");
console.log(formatTable(results, (result) => judge(result, known)));
for (const { result, verdict } of bad) {
  const { client, transport, operation, detail } = result;
  console.log(`${verdict} ${client} ${transport} ${operation}: ${detail || "listed as known to fail"}`);
}
for (const line of leftOut) console.log(`Left out: ${line}`);

const failed = bad.length + (availableOnly ? 0 : leftOut.length);
const counts = {
  passed: verdicts.filter(({ verdict }) => verdict === "ok").length,
  failed,
  skipped:
    verdicts.filter(({ verdict }) => verdict === "known").length + (availableOnly ? leftOut.length : 0),
};
const reports = join(ROOT, ".tmp", "reports");
mkdirSync(reports, { recursive: true });
writeFileSync(join(reports, "interop.json"), JSON.stringify(counts));
console.log(`interop: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} left out or known`);
process.exitCode = failed === 0 ? 0 : 1;
