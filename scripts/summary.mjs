// Adds up what the runs counted and closes with `N passed, N failed`. Arguments: how many steps failed as a whole,
// which counts when no report shows a failure, and the folder of the reports. No test at all is a failure.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REPORTS } from "./run.mjs";

const [broken = "0", folder = REPORTS] = process.argv.slice(2);
const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith(".json")) : [];

const total = { passed: 0, failed: 0 };
for (const file of files.sort()) {
  const { passed, failed, skipped } = JSON.parse(readFileSync(join(folder, file), "utf8"));
  console.log(`${file.slice(0, -5)}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  total.passed += passed;
  total.failed += failed;
}
if (total.failed === 0) total.failed = Number(broken) || (total.passed === 0 ? 1 : 0);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;
