import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A fresh directory for the tests of a file, removed after them. */
export function createTempDir(): string {
  const path = mkdtempSync(join(tmpdir(), "switchyard-"));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
