// Runs the parts of the benchmark that are named, or all of them, and writes docs/benchmarks.md from their results.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeHost, describePackages } from "./harness/host.js";
import { type Findings, renderFindings } from "./harness/report.js";
import { WORK } from "./harness/server.js";
import { type Result, renderReport } from "./harness/summary.js";
import { codec } from "./parts/codec.js";
import { engine } from "./parts/engine.js";
import { fanout } from "./parts/fanout.js";
import { idle } from "./parts/idle.js";
import { languages } from "./parts/languages.js";
import { latency } from "./parts/latency.js";
import { list } from "./parts/list.js";
import { size } from "./parts/size.js";
import { start } from "./parts/start.js";
import { streams } from "./parts/streams.js";
import { transcoder } from "./parts/transcoder.js";
import { get, send } from "./parts/unary.js";

const PARTS: ReadonlyMap<string, () => Promise<Findings>> = new Map(
  Object.entries({
    get,
    send,
    streams,
    fanout,
    idle,
    list,
    latency,
    languages,
    engine,
    transcoder,
    codec,
    start,
    size,
  }),
);
const RESULTS = join(WORK, "results");

const names = process.argv.slice(2);
const unknown = names.filter((name) => !PARTS.has(name));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(", ")}. Parts: ${[...PARTS.keys()].join(", ")}.`);
  process.exit(2);
}

// Leaving by `exit` takes the servers along.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

// Measured programs run without a loader, which would add to their cost.
execFileSync("tsc", ["--project", join("test", "bench")], { stdio: "inherit" });
mkdirSync(RESULTS, { recursive: true });
for (const name of names.length > 0 ? names : PARTS.keys()) await runPart(name);
writeFileSync(join("docs", "benchmarks.md"), renderReport([...PARTS.keys()].flatMap(resultOf)));

async function runPart(name: string): Promise<void> {
  const from = performance.now();
  console.error(`${name} …`);
  const findings = await (PARTS.get(name) as () => Promise<Findings>)();
  const seconds = Math.round((performance.now() - from) / 1000);
  const result: Result = {
    name,
    findings,
    seconds,
    date: new Date().toISOString().slice(0, 10),
    host: describeHost(),
    packages: describePackages(),
  };
  writeFileSync(fileOf(name), JSON.stringify(result));
  console.log(`${renderFindings(findings)}\n\n${name}: ${seconds} s, ${result.host}\n`);
}

function resultOf(name: string): Result[] {
  return existsSync(fileOf(name)) ? [JSON.parse(readFileSync(fileOf(name), "utf8")) as Result] : [];
}

function fileOf(name: string): string {
  return join(RESULTS, `${name}.json`);
}
