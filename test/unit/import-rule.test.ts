import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Imports that cross a layer the wrong way: the file, and what it imports. */
const FORBIDDEN = [
  ["src/errors.ts", "./protocol/schema.js"],
  ["src/protocol/task.ts", "../core/context.js"],
  ["src/protocol/task.ts", "../agents/agent.js"],
  ["src/protocol/json/reader.ts", "../../bindings/http.js"],
  ["src/core/run.ts", "../agents/echo.js"],
  ["src/core/run.ts", "../stores/sqlite.js"],
  ["src/core/run.ts", "../stores/sqlite/store.js"],
  ["src/core/run.ts", "../hub/memory.js"],
  ["src/core/run.ts", "../bindings/http.js"],
  ["src/core/run.ts", "../config/schema.js"],
  ["src/core/middleware/auth.ts", "../../gateway.js"],
  ["src/core/run.ts", "../../gen/lf/a2a/v1/a2a_pb.js"],
  ["src/bindings/rest/router.ts", "../../core/operations.js"],
  ["src/bindings/rest/router.ts", "../../agents/agent.js"],
  ["src/bindings/rest/router.ts", "../jsonrpc/http.js"],
  ["src/bindings/rest/router.ts", "../../server/cors.js"],
  ["src/bindings/jsonrpc/http.ts", "../rest/router.js"],
  ["src/stores/memory.ts", "../core/log.js"],
  ["src/hub/memory.ts", "../stores/task-store.js"],
  ["src/agents/echo.ts", "../core/runs.js"],
  ["src/agents/echo.ts", "../config/schema.js"],
  ["src/client/index.ts", "../core/context.js"],
  ["src/server/http-listener.ts", "../agents/echo.js"],
  ["src/server/http-listener.ts", "../config/schema.js"],
  ["src/config/load.ts", "../server/cors.js"],
] as const;

/** Imports that the layers live by. */
const ALLOWED = [
  ["src/protocol/task.ts", "../errors.js"],
  ["src/protocol/schema.ts", "../../gen/lf/a2a/v1/a2a_pb.js"],
  ["src/core/run.ts", "../agents/agent.js"],
  ["src/core/run.ts", "../stores/task-store.js"],
  ["src/core/run.ts", "../hub/hub.js"],
  ["src/core/run.ts", "../protocol/json/index.js"],
  ["src/bindings/rest/router.ts", "../../core/context.js"],
  ["src/bindings/rest/router.ts", "../http.js"],
  ["src/bindings/rest/router.ts", "./template.js"],
  ["src/bindings/rest/router.ts", "@bufbuild/protobuf"],
  ["src/stores/memory.ts", "./task-store.js"],
  ["src/agents/remote.ts", "../client/index.js"],
  ["src/server/http-listener.ts", "../core/cards.js"],
  ["src/cli/serve.ts", "../config/load.js"],
  ["src/gateway.ts", "./stores/sqlite.js"],
] as const;

type Case = readonly [file: string, source: string];

/** Files of one import each, under names that the rule's globs match, and what the linter says about them. */
function lint(folder: string, cases: readonly Case[]): Set<string> {
  const files = cases.map(([file, source], index) => {
    const path = join(dirname(file), `case-${index}.ts`);
    const named = file === "src/errors.ts" ? file : path;
    mkdirSync(join(folder, dirname(named)), { recursive: true });
    writeFileSync(join(folder, named), `import { a } from "${source}";\n\nexport const b = a;\n`);
    return named;
  });
  const biome = join(ROOT, "node_modules", ".bin", "biome");
  const args = ["lint", "--only=style/noRestrictedImports", "--reporter=json", "--max-diagnostics=none", "."];
  const { stdout } = spawnSync(biome, args, { cwd: folder, encoding: "utf8" });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { location: { path: string | object } }[] };
  const told = diagnostics.map(({ location }) => JSON.stringify(location.path));
  return new Set(
    cases.flatMap(([file, source], index) => {
      const name = files[index] ?? "";
      return told.some((path) => path.includes(name)) ? [`${file} < ${source}`] : [];
    }),
  );
}

describe("the import rule", () => {
  let folder: string;
  let told: Set<string>;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "switchyard-import-rule-"));
    const config = JSON.parse(readFileSync(join(ROOT, "biome.json"), "utf8"));
    const { $schema: _, vcs: __, ...rest } = config;
    writeFileSync(join(folder, "biome.json"), JSON.stringify(rest));
    cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
    told = lint(folder, [...FORBIDDEN, ...ALLOWED]);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(FORBIDDEN)("%s may not import %s", (file, source) => {
    expect(told).toContain(`${file} < ${source}`);
  });

  it.each(ALLOWED)("%s may import %s", (file, source) => {
    expect(told).not.toContain(`${file} < ${source}`);
  });
});
