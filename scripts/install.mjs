// Brings node_modules in step with package-lock.json, and does nothing when it already is. Uses Node alone,
// because it runs on a machine where nothing is installed yet.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { prepareCompilers } from "./compilers.mjs";
import { ROOT } from "./run.mjs";

function say(text) {
  console.log(`install: ${text}`);
}

function stop(text) {
  console.error(`install: ${text}`);
  process.exit(1);
}

function exec(program, ...args) {
  return spawnSync(program, args, { cwd: ROOT, stdio: "inherit" }).status === 0;
}

function packagesOf(file) {
  const path = join(ROOT, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).packages : {};
}

/** npm writes the tree that it installed to node_modules/.package-lock.json. */
function isInStep() {
  const installed = packagesOf("node_modules/.package-lock.json");
  return Object.entries(packagesOf("package-lock.json")).every(
    ([path, { version, optional }]) =>
      path === "" || (installed[path]?.version ?? (optional && version)) === version,
  );
}

/** In a process of its own: a binding of another Node version would stay loaded. */
function sqliteLoads() {
  const program = "new (require('better-sqlite3'))(':memory:').close()";
  return spawnSync(process.execPath, ["-e", program], { cwd: ROOT, stdio: "ignore" }).status === 0;
}

function checkNode() {
  const { engines } = createRequire(import.meta.url)("../package.json");
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    stop(`Node ${process.versions.node} found, ${engines.node} needed`);
}

checkNode();
if (!isInStep()) {
  prepareCompilers();
  say("npm ci (1 to 2 minutes longer where better-sqlite3 has to be compiled)");
  if (!exec("npm", "ci", "--no-audit", "--no-fund")) stop("npm ci failed");
}
if (!sqliteLoads()) {
  prepareCompilers();
  say(`npm rebuild better-sqlite3, for Node ${process.versions.node}`);
  if (!exec("npm", "rebuild", "better-sqlite3") || !sqliteLoads()) stop("better-sqlite3 cannot be loaded");
}
