import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type AdminCommand,
  type AdminSocket,
  callAdmin,
  openAdminSocket,
} from "../../../src/server/admin-socket.js";

let folder: string;
let path: string;
const open: AdminSocket[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-admin-"));
  path = join(folder, "run", "admin.sock");
});
afterEach(async () => {
  for (const socket of open.splice(0)) await socket.close();
  rmSync(folder, { recursive: true });
});

const COMMANDS = new Map<string, AdminCommand>([
  ["echo", async (parameters) => parameters],
  [
    "fail",
    async () => {
      throw new Error("no luck");
    },
  ],
]);

async function start(): Promise<AdminSocket> {
  const socket = await openAdminSocket({ path, commands: COMMANDS });
  open.push(socket);
  return socket;
}

/** Sends raw text and returns all that comes back. */
async function send(text: string): Promise<string> {
  const socket = connect(path);
  socket.end(text);
  let answer = "";
  for await (const chunk of socket.setEncoding("utf8")) answer += chunk as string;
  return answer;
}

describe("admin socket", () => {
  it("is for its owner only, and gone when closed", async () => {
    const socket = await start();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await open.splice(0)[0]?.close();
    expect(socket).toBeDefined();
    expect(existsSync(path)).toBe(false);
  });

  it("answers commands, and hands on what they throw", async () => {
    await start();
    expect(await callAdmin(path, { command: "echo", parameters: { a: [1] } })).toEqual({
      result: { a: [1] },
    });
    await expect(callAdmin(path, { command: "fail", parameters: {} })).rejects.toThrow("no luck");
    await expect(callAdmin(path, { command: "nope", parameters: {} })).rejects.toThrow(
      'there is no command "nope"',
    );
  });

  it("answers each line in order, and says what is no JSON", async () => {
    await start();
    const answers = (
      await send('{"command":"echo","parameters":{"n":1}}\n\nnonsense\n{"command":"echo"}\n')
    ).split("\n");
    expect(answers).toEqual([
      '{"result":{"n":1}}',
      expect.stringMatching(/^\{"error":".*JSON/),
      '{"result":{}}',
      "",
    ]);
  });

  it("hangs up on an endless line", async () => {
    await start();
    await expect(send("x".repeat(200_000))).rejects.toThrow(/ECONNRESET|EPIPE/);
    expect(await callAdmin(path, { command: "echo", parameters: {} })).toEqual({ result: {} });
  });

  it("takes over from a dead process, never from a living one or from a file", async () => {
    const dead = createServer().listen(join(folder, "dead.sock"));
    await once(dead, "listening");
    path = join(folder, "dead.sock");
    await expect(start()).rejects.toThrow(`another gateway already listens on ${path}`);
    await once(dead.close(), "close");
    writeFileSync(path, "");
    await expect(start()).rejects.toThrow(`${path} exists and is no socket`);
  });

  it("says that nobody listens, and that a path is too long", async () => {
    expect(await callAdmin(path, { command: "echo", parameters: {} })).toBeUndefined();
    path = join(folder, "x".repeat(120));
    await expect(start()).rejects.toThrow("the path of a Unix socket has at most 107 bytes");
  });

  it("gives up on a gateway that does not answer", async () => {
    path = join(folder, "mute.sock");
    const mute = createServer((socket) => socket.resume()).listen(path);
    await once(mute, "listening");
    const call = callAdmin(path, { command: "echo", parameters: {} }, 20);
    await expect(call).rejects.toThrow("the gateway did not answer in time");
    await once(mute.close(), "close");
  });
});
