import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";

const MIB = 1024 * 1024;

/** Logs 40 MiB at once, says so, and ends when its input has and all is written. */
const PROGRAM = `
  import { createLog } from "./dist/src/cli/log.js";
  const log = createLog({ level: "info" });
  for (let line = 1; line <= 40 * 1024; line += 1) log.info({ line, filler: "x".repeat(1024) });
  process.stdin.on("end", () => log.flush()).resume();
  process.stdout.write("logged");
`;

it("is written to its end by a program that exits in the middle of its work", async () => {
  const program = `
    import { createLog } from "./dist/src/cli/log.js";
    const log = createLog({ level: "info" });
    for (let line = 1; line <= 1000; line += 1) log.info({ line });
    process.exit(3);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  const pieces: Buffer[] = [];
  child.stderr.on("data", (piece: Buffer) => pieces.push(piece));
  expect(await once(child, "close")).toEqual([3, null]);
  const lines = Buffer.concat(pieces).toString().trimEnd().split("\n");
  const numbers = lines.map((line) => (JSON.parse(line) as { line: number }).line);
  // What a thread was writing when the process exited may come behind the rest.
  expect(numbers.toSorted((one, other) => one - other)).toEqual(
    Array.from({ length: 1000 }, (_, index) => index + 1),
  );
});

it("keeps 16 MiB of lines for a reader who does not read, whole and in order, and drops the rest", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM]);
  const exited = once(child, "exit");
  await once(child.stdout, "data");
  const pieces: Buffer[] = [];
  child.stderr.on("data", (piece: Buffer) => pieces.push(piece));
  child.stdin.end();
  expect(await exited).toEqual([0, null]);
  const text = Buffer.concat(pieces).toString();
  expect(text.length).toBeGreaterThan(15 * MIB);
  expect(text.length).toBeLessThan(17 * MIB);
  const numbers = text
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { line: number }).line);
  expect(numbers.slice(0, 10_000)).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1));
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
}, 30_000);
