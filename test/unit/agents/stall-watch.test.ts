import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-stall-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Runs a program in a process of its own, since it stands still, and reads the lines of its log. */
async function linesOf(program: string): Promise<Line[]> {
  const watch = new URL("../../../src/agents/stall-watch.ts", import.meta.url).href;
  const file = join(folder, "program.mjs");
  writeFileSync(file, `import { createStallWatch } from ${JSON.stringify(watch)};\n${program}`);
  const tsx = import.meta.resolve("tsx");
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", tsx, file]);
  return stderr
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);
}

const START = "const watch = createStallWatch({ stallMs: 500, onFault: (cause) => { throw cause; } });";
const SPIN = "function spin(ms) { const end = performance.now() + ms; while (performance.now() < end); }";

describe("stall watch", () => {
  it("names the agent whose code keeps the process busy, and says when that has ended", async () => {
    const agent = join(folder, "busy-agent.mjs");
    writeFileSync(agent, `${SPIN}\nexport async function answer() {\n  await null;\n  spin(2500);\n}\n`);
    const other = join(folder, "sub", "other.mjs");
    const lines = await linesOf(`
      ${START}
      watch.watch([{ tenant: "other", file: ${JSON.stringify(other)} }, { tenant: "busy", file: ${JSON.stringify(agent)} }]);
      const { answer } = await import(${JSON.stringify(agent)});
      await new Promise((resolve) => setTimeout(resolve, 500));
      await answer();
      await new Promise((resolve) => setTimeout(resolve, 700));
      await watch.stop();
    `);
    expect(lines).toMatchObject([
      {
        level: 50,
        tenant: "busy",
        agent,
        function: "spin",
        stallMs: 500,
        msg: "synchronous code keeps the process from doing anything else",
      },
      { level: 40, msg: "the process runs on" },
    ]);
    expect(lines[0]?.place).toMatch(/busy-agent\.mjs:1$/);
  });

  it("says nothing about a process that gets on, and does not keep it alive", async () => {
    const lines = await linesOf(`
      ${SPIN}
      ${START}
      watch.watch([]);
      for (let round = 0; round < 10; round += 1) {
        spin(60);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    `);
    expect(lines).toEqual([]);
  });
});
