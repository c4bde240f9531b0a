import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { type Findings, number } from "../harness/report.js";

/** What an installation puts on the disk. */
export async function size(): Promise<Findings> {
  const [packed] = JSON.parse(run("npm", ["pack", "--dry-run", "--ignore-scripts", "--json"])) as {
    readonly unpackedSize: number;
    readonly size: number;
  }[];
  const own = run("npm", ["ls", "--omit=dev", "--all", "--parseable"]).trim().split("\n").slice(1);
  const packages = own
    .map((folder) => ({ name: relative("node_modules", folder), bytes: bytesIn(folder) }))
    .sort((one, other) => other.bytes - one.bytes);
  const dependencies = packages.reduce((total, { bytes }) => total + bytes, 0);
  const mebibytes = (bytes: number) => number(bytes / 1024 ** 2);
  return {
    title: "Installed size",
    method: "The package as it is packed, and the packages that it needs to run, without development ones.",
    verdicts: [],
    tables: [
      {
        head: ["", "MiB"],
        rows: [
          ["the package, compressed", mebibytes(packed?.size ?? Number.NaN)],
          ["the package", mebibytes(packed?.unpackedSize ?? Number.NaN)],
          [`its ${packages.length} dependencies`, mebibytes(dependencies)],
          ...packages.slice(0, 8).map(({ name, bytes }) => [`of these ${name}`, mebibytes(bytes)]),
        ],
      },
    ],
  };
}

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 ** 2,
    stdio: ["ignore", "pipe", "ignore"],
  });
}

/** Nested packages are listed, and counted, by themselves. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules")
    .reduce((total, entry) => {
      const path = join(entry.parentPath, entry.name);
      return total + (entry.isDirectory() ? bytesIn(path) : lstatSync(path).size);
    }, 0);
}
