// Writes what is derived from the contract, gen/ by buf, and from the configuration's schema, its documents. With
// --check it writes to a scratch folder instead and fails when that differs from what is committed.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "./run.mjs";

const check = process.argv.includes("--check");
const scratch = join(ROOT, ".tmp", "generated");

async function must(command) {
  const { code, output } = await run(command, { capture: true });
  if (code === 0) return;
  console.error(output.trimEnd());
  process.exit(1);
}

if (check) {
  rmSync(scratch, { recursive: true, force: true });
  await must(["buf", "generate", "--output", scratch]);
  await must(["diff", "--recursive", "--brief", "gen", join(scratch, "gen")]);
  await must(["tsx", "scripts/config-docs.ts", "--check"]);
  await must(["tsx", "scripts/errors-docs.ts", "--check"]);
} else {
  await must(["buf", "generate"]);
  await must(["tsx", "scripts/config-docs.ts"]);
  await must(["tsx", "scripts/errors-docs.ts"]);
}
