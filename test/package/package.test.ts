import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** The package as its users get it: packed, installed into an empty project, compiled against and run. */

const run = promisify(execFile);
const ROOT = process.cwd();

const TSCONFIG = {
  compilerOptions: {
    target: "ES2023",
    module: "NodeNext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
    lib: ["ES2023"],
    types: ["node"],
  },
  files: ["consumer.mts"],
};

describe("the packed package", () => {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-package-"));
  let packed: string[] = [];

  beforeAll(async () => {
    expect(existsSync("dist/src/index.js"), "run `make build` first").toBe(true);
    const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder]);
    packed = (JSON.parse(stdout) as { files: { path: string }[] }[])[0]?.files.map((file) => file.path) ?? [];
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) as string;
    const manifest = { name: "consumer", private: true, type: "module" };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
    cpSync("test/package/consumer.mts", join(folder, "consumer.mts"));
    const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
    await run("npm", [...install, join(folder, tarball), "@types/node@20"], { cwd: folder });
  }, 180_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("holds the program, its types and the contract, and no tests", () => {
    for (const path of [
      "dist/main.js",
      "dist/src/index.d.ts",
      "proto/lf/a2a/v1/a2a.proto",
      "README.md",
      "LICENSE",
    ]) {
      expect(packed).toContain(path);
    }
    expect(packed.filter((path) => path.startsWith("test/") || path.startsWith("src/"))).toEqual([]);
  });

  it("compiles under strict settings and runs inside a server of one's own", async () => {
    const compiled = await run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc")], {
      cwd: folder,
    }).catch((error: { readonly stdout: string }) => error);
    expect(compiled.stdout).toBe("");
    const { stdout } = await run(process.execPath, ["consumer.mjs"], { cwd: folder });
    const { answers, seen } = JSON.parse(stdout) as { answers: string[]; seen: string[] };
    expect(answers[0]).toMatch(/^200 .*"text":"HELLO"/);
    expect(answers[1]).toMatch(/^403 .*"message":"Too loud\."/);
    expect(seen).toEqual(["rest SendMessage", "rest SendMessage"]);
  }, 60_000);

  it("has an agent door of its own", async () => {
    const script = 'import("switchyard/agent").then((door) => console.log(typeof door.defineAgent))';
    const { stdout } = await run(process.execPath, ["-e", script], { cwd: folder });
    expect(stdout.trim()).toBe("function");
  });
});
