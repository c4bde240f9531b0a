import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Turn } from "../../../src/agents/agent.js";
import { createModuleLoader, type LoadedModule } from "../../../src/agents/module.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "switchyard-module-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function write(name: string, source: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, source);
  return file;
}

function nameOf(loaded: LoadedModule): string {
  if (loaded.kind === "failed") throw new Error(loaded.problem);
  return loaded.agent.card.name;
}

/** Loads files outside of the test runner, which has an `import()` of its own. */
async function loadInProcess(files: readonly string[]): Promise<string[]> {
  const loader = new URL("../../../src/agents/module.ts", import.meta.url).href;
  const program = `
    const { createModuleLoader } = await import(${JSON.stringify(loader)});
    const results = await Promise.all(${JSON.stringify(files)}.map((file) => createModuleLoader().load(file)));
    console.log(JSON.stringify(results.map((result) => result.problem)));`;
  const options = ["--import", "tsx", "--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  return JSON.parse(stdout) as string[];
}

const agent = (name: string) => `{ card: { name: ${JSON.stringify(name)} }, answer: async () => "x" }`;

describe("module agents", () => {
  it.each(["a.mjs", "a.js", "a.ts", "a.mts"])("loads the default export of %s", async (name) => {
    const types = name.endsWith("ts") ? ": object" : "";
    const file = await write(name, `const made${types} = ${agent(name)};\nexport default made;\n`);
    expect(nameOf(await createModuleLoader().load(file))).toBe(name);
  });

  it("gives the same agent until the file changes, and the new one then", async () => {
    const loader = createModuleLoader();
    for (const name of ["changing.mjs", "changing.ts"]) {
      const file = await write(name, `export default ${agent("old")};`);
      const first = await loader.load(file);
      const second = await loader.load(file);
      expect(first.kind === "loaded" && second.kind === "loaded" && second.agent === first.agent).toBe(true);
      await write(name, `export default ${agent("newer")};`);
      expect(nameOf(await loader.load(file))).toBe("newer");
    }
  });

  it("keeps nothing of a load that failed", async () => {
    const loader = createModuleLoader();
    const file = await write("mended.ts", "export default {");
    expect((await loader.load(file)).kind).toBe("failed");
    await write("mended.ts", `export default ${agent("mended")};`);
    expect(nameOf(await loader.load(file))).toBe("mended");
  });

  it.each([
    [
      "no-default.mjs",
      "export const a = 1;",
      "it has no default export; export what defineAgent({ … }) returns.",
    ],
    [
      "other.mjs",
      "export default 1;",
      "its default export is no agent; export what defineAgent({ … }) returns.",
    ],
    [
      "half.mjs",
      "export default { card: {} };",
      "its default export is no agent; export what defineAgent({ … }) returns.",
    ],
    ["throws.mjs", "\nthrow new Error('no\\n  luck');", "no luck (FOLDER/throws.mjs:2)"],
    ["text.mjs", "throw 'text';", "it threw text."],
    [
      "syntax.ts",
      "export default (",
      "Transform failed with 1 error: FOLDER/syntax.ts:1:16: ERROR: Unexpected end of file",
    ],
    ["agent.txt", "", "an agent is a .ts, .mts, .js or .mjs file."],
  ])("says in one line what is wrong with %s", async (name, source, problem) => {
    const file = await write(name, source);
    const loaded = await createModuleLoader().load(file);
    expect(loaded).toEqual({ kind: "failed", problem: `${file}: ${problem.replaceAll("FOLDER", folder)}` });
  });

  it("says in one line what Node finds wrong with a file or what it imports", async () => {
    const files = [
      await write("syntax.mjs", "export default {\n  a: ;\n}"),
      await write("import.mjs", "import './none.js';"),
      await write("throws.mts", "\nconst text: string = 'no luck';\nthrow new Error(text);"),
    ];
    const [syntax, imported, thrown] = await loadInProcess(files);
    expect(syntax).toContain(`${files[0]}:`);
    expect(imported).toContain(`Cannot find '${join(folder, "none.js")}' imported from ${files[1]}`);
    expect(thrown).toBe(`${files[2]}: no luck (${files[2]}:3)`);
    expect(`${syntax}${imported}`).not.toContain("\n");
  });

  it("gives agents this program as switchyard where it is not installed", async () => {
    const source = `import { defineAgent } from "switchyard/agent";
      export default defineAgent({ card: { name: "Own", description: "d" }, answer: () => "x" });`;
    const files = await Promise.all(
      ["own.ts", "own.mts", "own.js", "own.mjs"].map((name) => write(name, source)),
    );
    files.push(await write("library.mjs", source.replace("switchyard/agent", "switchyard")));
    expect(await loadInProcess(files)).toEqual(files.map(() => null));
  });

  it.each(["lost.ts", "lost.mjs"])(
    "says in one line which package %s lacks, and how to add it",
    async (name) => {
      const file = await write(name, 'import none from "@no/such/file.js";\nexport default none;');
      const [problem] = await loadInProcess([file]);
      const what = name.endsWith("ts") ? "@no/such/file.js" : "@no/such";
      expect(problem).toBe(
        `${file}: Cannot find '${what}' imported from ${file}; add it: cd ${folder} && npm install @no/such`,
      );
    },
  );

  it("takes an object that defineAgent did not make for its argument", async () => {
    const file = await write(
      "plain.mjs",
      "export default { card: { name: 'Plain', description: 'd' }, async *answer() { yield 'on it'; } };",
    );
    const loaded = await createModuleLoader().load(file);
    if (loaded.kind === "failed") expect.fail(loaded.problem);
    expect(loaded.agent.card.version).toBe("1.0.0");
    const turn = { taskId: "t" } as Turn;
    const answer = await loaded.agent.answer(turn, new AbortController().signal);
    expect(answer.kind === "task" && (await answer.work.next()).value).toMatchObject({ kind: "status" });
  });

  it("says that a file is missing", async () => {
    const file = join(folder, "none.ts");
    expect(await createModuleLoader().load(file)).toEqual({
      kind: "failed",
      problem: `${file}: there is no such file.`,
    });
  });

  it("gives up on a file that is never evaluated", async () => {
    const file = await write("hangs.mjs", "await new Promise(() => {});\nexport default 1;");
    expect(await createModuleLoader({ timeoutMs: 20 }).load(file)).toEqual({
      kind: "failed",
      problem: `${file}: it was not loaded within 20 ms.`,
    });
  });
});
