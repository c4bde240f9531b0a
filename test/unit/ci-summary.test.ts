import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../scripts/summary.mjs", import.meta.url));

function summarize(reports: Readonly<Record<string, object>>, broken = 0) {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-summary-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, counts] of Object.entries(reports)) {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(counts));
  }
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, String(broken), folder], {
    encoding: "utf8",
  });
  return { status, last: stdout.trimEnd().split("\n").at(-1) };
}

describe("the closing line of CI", () => {
  it("adds up all runs", () => {
    const reports = {
      check: { passed: 8, failed: 0, skipped: 0 },
      test: { passed: 90, failed: 0, skipped: 2 },
    };
    expect(summarize(reports)).toEqual({ status: 0, last: "98 passed, 0 failed" });
  });

  it("fails when one run failed", () => {
    const reports = {
      check: { passed: 7, failed: 1, skipped: 0 },
      test: { passed: 90, failed: 2, skipped: 0 },
    };
    expect(summarize(reports, 2)).toEqual({ status: 1, last: "97 passed, 3 failed" });
  });

  it("counts a step that broke without a failed test", () => {
    const reports = { test: { passed: 90, failed: 0, skipped: 0 } };
    expect(summarize(reports, 1)).toEqual({ status: 1, last: "90 passed, 1 failed" });
  });

  it("fails when nothing ran", () => {
    expect(summarize({})).toEqual({ status: 1, last: "0 passed, 1 failed" });
    const reports = { test: { passed: 0, failed: 0, skipped: 5 } };
    expect(summarize(reports)).toEqual({ status: 1, last: "0 passed, 1 failed" });
  });
});
