import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

/** The types that users compile against, as one committed text: a change of them shows in review. */

const REPORT = "test/wire/public-types.d.ts.txt";
const DOORS = ["dist/src/index.d.ts", "dist/src/agents/author.d.ts"];

/** Declarations of ours that can be reached from the doors; generated ones follow the contract and are left out. */
function reachable(): string[] {
  const found = new Set<string>(DOORS);
  for (const file of found) {
    for (const [, specifier] of readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)) {
      const target = join(dirname(file), `${specifier}.d.ts`);
      if (!target.startsWith("dist/gen/")) found.add(target);
    }
  }
  return [...found].sort();
}

it("the public types are those of the report (UPDATE=1 writes it anew)", () => {
  expect(existsSync("dist/src/index.d.ts"), "run `make build` first").toBe(true);
  const report = reachable()
    .map(
      (file) =>
        `// ${relative("dist", file)}\n${readFileSync(file, "utf8").replace(/^\/\/# sourceMappingURL.*\n?/m, "")}`,
    )
    .join("\n");
  if (process.env.UPDATE !== undefined) writeFileSync(REPORT, report);
  expect(report).toBe(readFileSync(REPORT, "utf8"));
});
