// Compiles to dist/. The compiler keeps src/ and gen/ side by side, so that relative imports stay true; the
// program's entry dist/main.js only leads there. dist/ is replaced at once, and only when everything compiled.
import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "./run.mjs";

const dist = join(ROOT, "dist");
const fresh = join(ROOT, ".tmp", `dist-${process.pid}`);

const { code } = await run(["tsc", "--project", "tsconfig.build.json", "--outDir", fresh]);
if (code === 0) {
  const entry = join(fresh, "main.js");
  writeFileSync(entry, '#!/usr/bin/env node\nimport "./src/main.js";\n');
  chmodSync(entry, 0o755);
  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
} else {
  rmSync(fresh, { recursive: true, force: true });
}
process.exitCode = code;
