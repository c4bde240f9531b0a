// Everything that is checked without running the gateway. All steps run, whatever the others say.
import { report, run } from "./run.mjs";

const STEPS = [
  ["types", ["tsc"]],
  ["types of what runs in a browser", ["tsc", "--project", "test/interop/browser"]],
  ["format, lint and import rule", ["biome", "check", "--error-on-warnings"]],
  ["unused code and dependencies", ["knip"]],
  ["contract: lint", ["buf", "lint"]],
  ["contract: format", ["buf", "format", "--diff", "--exit-code", "proto"]],
  ["contract: format of test protos", ["buf", "format", "--diff", "--exit-code", "test/proto"]],
  ["contract: breaking changes", ["buf", "breaking", "proto", "--against", "test/wire/a2a-1.0.binpb"]],
  ["generated files are fresh", ["node", "scripts/generate.mjs", "--check"]],
];

let failed = 0;
for (const [name, command] of STEPS) {
  const { code, output } = await run(command, { capture: true });
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${name}`);
  if (code === 0) continue;
  failed += 1;
  console.log(`$ ${command.join(" ")}\n${output.trimEnd()}\n`);
}
report("check", { passed: STEPS.length - failed, failed, skipped: 0 });
process.exitCode = failed === 0 ? 0 : 1;
