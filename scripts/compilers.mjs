// What better-sqlite3 is compiled with where no ready-made binding can be fetched. Run by itself it installs them.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Debian's packages by the programs that they bring. */
const COMPILERS = { python3: "python3", make: "make", "g++": "g++" };

function exec(program, ...args) {
  spawnSync(program, args, { stdio: "inherit" });
}

/** Installs those that are missing, if this user may; says so if not. */
export function prepareCompilers() {
  const missing = Object.keys(COMPILERS).filter((name) => spawnSync(name, ["--version"]).error);
  if (missing.length === 0) return;
  const packages = missing.map((name) => COMPILERS[name]);
  if (process.getuid?.() !== 0 || spawnSync("apt-get", ["--version"]).error) {
    console.log(`${missing.join(", ")} not found; needed if better-sqlite3 has to be compiled`);
    return;
  }
  console.log(`apt-get install ${packages.join(" ")}, to compile better-sqlite3`);
  exec("apt-get", "update", "-qq");
  exec("apt-get", "install", "-y", "-qq", "--no-install-recommends", ...packages);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) prepareCompilers();
