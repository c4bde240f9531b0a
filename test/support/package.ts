import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

let known: string | undefined;

/**
 * The package compiled as it is released, in a folder of its own: `package.json` and `dist/`. Made when the
 * sources have changed since it was last made; several test files may ask at once.
 */
export function compiledPackage(): string {
  known ??= compile();
  return known;
}

function compile(): string {
  const folder = join(ROOT, ".tmp", `package-${digestOfSources()}`);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}-${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  copyFileSync(join(ROOT, "package.json"), join(fresh, "package.json"));
  execFileSync(
    process.execPath,
    [
      join(ROOT, "node_modules/typescript/bin/tsc"),
      "--project",
      "tsconfig.build.json",
      "--outDir",
      join(fresh, "dist"),
    ],
    { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] },
  );
  putInPlace(fresh, folder);
  removeOld(folder);
  return folder;
}

const KEPT_MS = 3_600_000;

/** Those of earlier sources; a recent one may still be in use by another run. */
function removeOld(current: string): void {
  for (const name of readdirSync(join(ROOT, ".tmp")).filter((each) => each.startsWith("package-"))) {
    const folder = join(ROOT, ".tmp", name);
    const isOld = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) > KEPT_MS;
    if (folder !== current && isOld) rmSync(folder, { recursive: true, force: true });
  }
}

/** Another process may have been faster; what it made is the same. */
function putInPlace(fresh: string, folder: string): void {
  try {
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

function digestOfSources(): string {
  const hash = createHash("sha256");
  const folders = ["src", "gen"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  for (const file of [...folders.sort(), join(ROOT, "package.json"), join(ROOT, "tsconfig.build.json")]) {
    hash.update(file).update(readFileSync(file));
  }
  return hash.digest("hex").slice(0, 16);
}
