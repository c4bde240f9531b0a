import { existsSync, readFileSync } from "node:fs";

/** This program's version, from the package that it lies in, compiled or not. */
export function readVersion(): string {
  for (let folder = new URL(".", import.meta.url); folder.pathname !== "/"; folder = new URL("..", folder)) {
    const file = new URL("package.json", folder);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
  }
  return "unknown";
}
