// Writes what is derived from the contract and from code: gen/ by buf and comments.ts, and each document by its `…-docs.ts`. With
// --check nothing is changed, and a difference from what is committed fails.
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "./run.mjs";

const check = process.argv.includes("--check");
const scratch = join(ROOT, ".tmp", "generated");

async function must(...command) {
  const { code, output } = await run(command, { capture: true });
  if (code === 0) return;
  console.error(output.trimEnd());
  process.exitCode = 1;
}

if (check) {
  rmSync(scratch, { recursive: true, force: true });
  await must("buf", "generate", "--output", scratch);
  await must("tsx", "scripts/comments.ts", join(scratch, "gen"));
  await must("diff", "--recursive", "--brief", "gen", join(scratch, "gen"));
} else {
  await must("buf", "generate");
  await must("tsx", "scripts/comments.ts");
}
for (const script of readdirSync(join(ROOT, "scripts")).filter((file) => file.endsWith("-docs.ts"))) {
  await must("tsx", join("scripts", script), ...(check ? ["--check"] : []));
}
