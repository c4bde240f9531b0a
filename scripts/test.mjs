// Runs the tests and leaves a report for summary.mjs. Arguments: the name of the run, then vitest's own.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { REPORTS, ROOT, report, run } from "./run.mjs";

const [name = "test", ...args] = process.argv.slice(2);
const details = join(REPORTS, `${name}.vitest`);

/** A run that ended badly without a failed test (a file that does not load, an unhandled error, no test) counts as one. */
function count(code) {
  let counts = { passed: 0, failed: 0, skipped: 0 };
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
      readFileSync(details, "utf8"),
    );
    counts = { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests };
  } catch {
    console.error(`${name}: vitest left no report`);
  }
  const ok = code === 0 && counts.passed > 0;
  return ok || counts.failed > 0 ? counts : { ...counts, failed: 1 };
}

mkdirSync(REPORTS, { recursive: true });
rmSync(details, { force: true });
const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
const { code } = await run([
  process.execPath,
  vitest,
  "run",
  "--reporter=default",
  "--reporter=json",
  `--outputFile.json=${details}`,
  ...args,
]);
const counts = count(code);
report(name, counts);
process.exitCode = counts.failed === 0 ? 0 : 1;
