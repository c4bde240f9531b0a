import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** The README's commands, run as they stand against the program, but for its ports. */

const run = promisify(execFile);
const README = readFileSync("README.md", "utf8");

interface Block {
  readonly commands: string;
  /** The output that stands below them, if any. */
  readonly output: string | undefined;
}

function blocks(): Block[] {
  const fences = [...README.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind, text]) => ({
    kind,
    text: text ?? "",
  }));
  return fences.flatMap(({ kind, text }, index) => {
    if (kind !== "sh" || text.startsWith("make ")) return [];
    const next = fences[index + 1];
    const output = next?.kind === "json" || next?.kind === "text" ? next.text : undefined;
    return [{ commands: text, output }];
  });
}

/** Ids and times differ from run to run. */
function normal(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME")
    .trim();
}

describe("README", () => {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-readme-"));
  let program: ChildProcess;
  let http = "";
  let grpc = "";

  beforeAll(async () => {
    expect(existsSync("dist/main.js"), "run `make build` first").toBe(true);
    const args = [
      join(process.cwd(), "dist/main.js"),
      "serve",
      "--http",
      "127.0.0.1:0",
      "--grpc",
      "127.0.0.1:0",
    ];
    program = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
    let printed = "";
    for await (const piece of program.stdout as AsyncIterable<Buffer>) {
      printed += piece.toString();
      http = /http:\/\/(127\.0\.0\.1:\d+)/.exec(printed)?.[1] ?? "";
      grpc = /gRPC\D*(127\.0\.0\.1:\d+)/i.exec(printed)?.[1] ?? "";
      if (http && grpc) return;
    }
    throw new Error(`the program ended: ${printed}`);
  }, 30_000);

  afterAll(() => {
    program.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(blocks().map((block) => [block.commands.split("\n")[0], block] as const))(
    "%s",
    async (_, block) => {
      const commands = block.commands.replaceAll("127.0.0.1:8080", http).replaceAll("127.0.0.1:50051", grpc);
      const { stdout } = await run("bash", ["-euo", "pipefail", "-c", commands]);
      expect(stdout).not.toBe("");
      expect(stdout).not.toContain('"error"');
      if (block.output !== undefined) expect(normal(stdout)).toBe(block.output.trim());
    },
    30_000,
  );

  it("shows the same call on five wires", () => {
    const all = blocks()
      .map((block) => block.commands)
      .join("\n");
    for (const wire of [
      "/message:send",
      '"method":"SendMessage"',
      "8080/lf.a2a.v1.A2AService",
      "--protocol grpc ",
      "--protocol grpcweb",
    ]) {
      expect(all).toContain(wire);
    }
  });
});
