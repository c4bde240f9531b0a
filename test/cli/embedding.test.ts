import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createWorkplace, type Sent, sendBody, type Workplace } from "../support/program.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const EXAMPLE = fileURLToPath(new URL("../../examples/embedding/server.ts", import.meta.url));
const TSX = new URL("../../node_modules/tsx/dist/loader.mjs", import.meta.url).href;

let workplace: Workplace;
let child: ChildProcess;
let url: string;

beforeEach(async () => {
  workplace = createWorkplace();
  cpSync(EXAMPLE, join(workplace.directory, "server.mts"));
  const env = { ...process.env, PORT: "0", NODE_OPTIONS: "" };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  child = spawn(process.execPath, ["--import", TSX, "server.mts"], {
    cwd: workplace.directory,
    env,
    stdio: [...stdio],
  });
  const stdout = child.stdout ?? expect.fail();
  for await (const line of createInterface({ input: stdout })) {
    const [, port] = /"port":(\d+)/.exec(line) ?? [];
    url = `http://127.0.0.1:${port}`;
    if (port !== undefined) return;
  }
});
afterEach(async () => {
  child.kill("SIGKILL");
  await workplace.close();
});

async function send(text: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-user": "ada", ...headers },
    body: sendBody(text),
  });
  return { status: response.status, sent: (await response.json()) as Sent };
}

it("the embedding example answers beside its own page, outlives its agent's errors, and drains", async () => {
  expect(await (await fetch(url)).text()).toBe("My own page.\n");
  const { sent } = await send("hello");
  expect(sent.task?.status.message?.parts).toEqual([{ text: "Hello, ada!" }]);
  expect((await send("hello", { "x-user": "" })).sent.task?.status.message?.parts).toEqual([
    { text: "Hello, !" },
  ]);
  expect((await fetch(`${url}/tasks`)).status).toBe(401);
  expect((await send("hello", { "x-volume": "11" })).sent.error?.message).toBe("Too loud.");

  const complaint = once(child.stderr ?? expect.fail(), "data");
  await send("stray");
  expect(String(await complaint)).toContain("nobody awaits this");
  expect((await send("hello")).status).toBe(200);

  const blocked = send("long");
  await vi.waitFor(async () => {
    const list = await fetch(`${url}/tasks?status=TASK_STATE_WORKING`, { headers: { "x-user": "ada" } });
    expect(((await list.json()) as { totalSize: number }).totalSize).toBe(1);
  });
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(503));
  expect(await send("hello")).toMatchObject({
    status: 503,
    sent: { error: { message: "The gateway is shutting down." } },
  });
  expect((await blocked).sent.error?.message).toBe("The gateway is shutting down.");
  expect(await ended).toEqual([0, null]);
});
