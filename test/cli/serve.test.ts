import { once } from "node:events";
import { existsSync, statSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createWorkplace, getTask, send, type Workplace } from "../support/program.js";

// The first test compiles the program, and some start it several times.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let workplace: Workplace;
beforeEach(() => {
  workplace = createWorkplace();
});
afterEach(() => workplace.close());

function write(name: string, content: string): string {
  const file = join(workplace.directory, name);
  writeFileSync(file, content);
  return file;
}

const AGENT = (name: string, answer: string) => `
import { defineAgent, artifact } from "switchyard/agent";
export default defineAgent({ card: { name: ${JSON.stringify(name)}, description: "d" }, ${answer} });
`;

describe("switchyard serve", () => {
  it("S0-05 serves the echo agent, says where, and keeps its tasks in a file", async () => {
    const program = await workplace.serve();
    const { stdout } = { stdout: (await program.seen(/card +(\S+) +Echo/))[1] };
    expect(stdout).toBe(`${program.url}/.well-known/agent-card.json`);
    await program.seen(/gRPC +127\.0\.0\.1:\d+/);
    const docs = (await program.seen(/docs +(\S+)/))[1];
    expect(docs).toBe(`${program.url}/docs`);
    expect((await fetch(String(docs))).status).toBe(200);
    const card = (await (await fetch(String(stdout))).json()) as {
      name: string;
      supportedInterfaces: { url: string }[];
    };
    expect(card.name).toBe("Echo");
    expect(card.supportedInterfaces[0]?.url).toBe(program.url);
    const { task } = await send(program.url, "hello");
    expect(task?.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task?.artifacts?.[0]?.parts).toEqual([{ text: "hello" }]);
    expect(existsSync(join(workplace.directory, ".switchyard/switchyard.db"))).toBe(true);
    expect(statSync(join(workplace.directory, ".switchyard/admin.sock")).mode & 0o777).toBe(0o600);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "ends with 0 on %s, whatever connections are kept alive",
    async (signal) => {
      const program = await workplace.serve(["--store", "memory"]);
      await send(program.url, "hello");
      program.child.kill(signal);
      expect((await program.ended).code).toBe(0);
      expect(existsSync(join(workplace.directory, ".switchyard/admin.sock"))).toBe(false);
    },
  );

  it("ends at once on a second signal", async () => {
    write("slow.mjs", AGENT("Slow", "async *answer() { yield 'working'; await new Promise(() => {}); }"));
    const program = await workplace.serve([
      "--store",
      "memory",
      "--agent",
      "slow.mjs",
      "--set",
      "drainMs=60 s",
    ]);
    const stream = await fetch(`${program.url}/message:stream`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } }),
    });
    const reader = stream.body?.getReader();
    await reader?.read();
    program.child.kill("SIGTERM");
    await program.seen('"msg":"stopping"');
    expect(program.log().at(-1)).toMatchObject({
      signal: "SIGTERM",
      runs: 1,
      openStreams: 1,
      drainMs: 60_000,
      hint: "a second signal ends it at once",
    });
    program.child.kill("SIGTERM");
    expect((await program.ended).code).toBe(143);
    await reader?.cancel().catch(() => undefined);
  });

  it("says in one line that a port is in use, and ends with 1", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const place = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const http = await workplace.run([
      "serve",
      "--store",
      "memory",
      "--http",
      place,
      "--grpc",
      "127.0.0.1:0",
    ]);
    expect(http).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `switchyard: ${place} is in use by another program.\n`,
    });
    const grpc = await workplace.run([
      "serve",
      "--store",
      "memory",
      "--http",
      "127.0.0.1:0",
      "--grpc",
      place,
    ]);
    expect(grpc).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `switchyard: ${place} is in use by another program.\n`,
    });
    await once(other.close(), "close");
  });

  it("says in one line each what is wrong with its configuration and agents, and ends with 1", async () => {
    write("bad.mjs", "throw new Error('no luck');");
    write("switchyard.yaml", "htpp: 127.0.0.1:1\nlimits: { depth: none }");
    expect(await workplace.run(["serve"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        'switchyard: switchyard.yaml:1: htpp: there is no such setting; did you mean "http"?\n' +
        'switchyard: switchyard.yaml:2: limits.depth: must be a whole number from 2 to 300, not "none".\n',
    });
    write("switchyard.yaml", "");
    const { code, stderr } = await workplace.run(["serve", "--agent", "bad.mjs"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^switchyard: --agent: agents\[0\]\.file: \S+bad\.mjs: no luck \(\S+bad\.mjs:1\)\n$/,
    );
  });

  it("serves one file only once", async () => {
    await workplace.serve();
    const second = await workplace.run(["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    expect(second.code).toBe(1);
    expect(second.stderr.trim().split("\n")).toHaveLength(1);
    expect(second.stderr).toMatch(/^switchyard: .*switchyard\.db/);
  });

  it("S2-08 serves a TypeScript agent that a flag names, without a configuration", async () => {
    write(
      "hello.ts",
      AGENT("Hello", "answer: (turn: { taskId: string }) => turn.taskId !== '' && 'has a task id'"),
    );
    const program = await workplace.serve(["--store", "memory", "--agent", "hello.ts"]);
    expect((await send(program.url, "x")).message?.parts).toEqual([{ text: "has a task id" }]);
  });

  it("S1-06 says that a tenant is needed where no agent is the default one", async () => {
    write("switchyard.yaml", "store: memory\nagents: [{ tenant: acme }]");
    const { url } = await workplace.serve();
    expect((await send(url, "x")).error?.message).toBe("There is no default agent: name a tenant.");
    expect((await send(`${url}/acme`, "x")).task?.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("outlives the errors of its agents, and names them in the log", async () => {
    const file = write(
      "wild.mjs",
      AGENT(
        "Wild",
        `answer(turn) {
          const text = turn.message.parts[0].content.value;
          if (text === "throw") throw new Error("thrown");
          if (text === "timer") setTimeout(() => { throw new Error("from a timer"); }, 0);
          if (text === "promise") void Promise.reject(new Error("from a promise"));
          if (text === "socket") import("node:net").then(({ connect }) => connect(1, "127.0.0.1"));
          return "fine";
        }`,
      ),
    );
    const program = await workplace.serve(["--store", "memory", "--agent", "wild.mjs"]);
    await send(program.url, "throw");
    for (const [text, error] of [
      ["timer", "from a timer"],
      ["promise", "from a promise"],
      ["socket", "ECONNREFUSED"],
    ] as const) {
      await send(program.url, text);
      await program.seen(error);
    }
    const uncaught = program.log().filter(({ msg }) => String(msg).includes("left an error uncaught"));
    expect(uncaught).toMatchObject([{ agent: file }, { agent: file }, {}]);
    expect((await send(program.url, "hello")).message?.parts).toEqual([{ text: "fine" }]);
  });

  it("names an agent that keeps the process busy", async () => {
    const file = write(
      "busy.mjs",
      AGENT(
        "Busy",
        "async answer() { await null; const end = Date.now() + 2500; while (Date.now() < end); return 'x'; }",
      ),
    );
    const program = await workplace.serve([
      "--store",
      "memory",
      "--agent",
      "busy.mjs",
      "--set",
      "runs.stallMs=500",
    ]);
    await send(program.url, "x");
    expect(program.log()).toContainEqual(
      expect.objectContaining({
        msg: "synchronous code keeps the process from doing anything else",
        agent: file,
        tenant: "",
      }),
    );
  });
});

describe("hot reload", () => {
  const cardName = async (url: string, tenant = "") =>
    ((await (await fetch(`${url}${tenant}/.well-known/agent-card.json`)).json()) as { name?: string }).name;

  it("exchanges agents when the file changes; a running task keeps its own", async () => {
    write(
      "a.mjs",
      AGENT(
        "A",
        `async *answer() {
          yield "started";
          const { existsSync } = await import("node:fs");
          while (!existsSync("release")) await new Promise((resolve) => setTimeout(resolve, 20));
          return "old";
        }`,
      ),
    );
    write("b.mjs", AGENT("B", "answer: () => 'new'"));
    write("switchyard.yaml", "store: memory\nagents: [{ file: a.mjs }]");
    const program = await workplace.serve();
    const { task } = await send(program.url, "x", { returnImmediately: true });
    write("switchyard.yaml", "store: memory\nagents: [{ file: b.mjs }, { tenant: t, file: b.mjs }]");
    await program.seen("the configuration was read again");
    expect(await cardName(program.url)).toBe("B");
    expect(await cardName(program.url, "/t")).toBe("B");
    expect((await send(program.url, "x")).message?.parts).toEqual([{ text: "new" }]);
    write("release", "");
    await vi.waitFor(async () => {
      expect((await getTask(program.url, String(task?.id))).status.message?.parts).toEqual([{ text: "old" }]);
    });
  });

  it("keeps the last good configuration when the new one has problems, and loads a changed agent", async () => {
    write("a.ts", AGENT("A", "answer: () => 'x'"));
    write("switchyard.yaml", "store: memory\nagents: [{ file: a.ts }]");
    const program = await workplace.serve();
    write("switchyard.yaml", "store: memory\nagents: [{ file: a.ts, busi: queue }]");
    await program.seen("the new configuration has problems; the old one stays");
    expect(program.log().at(-1)?.problems).toEqual([
      'switchyard.yaml:2: agents[0].busi: there is no such setting; did you mean "busy"?',
    ]);
    expect(await cardName(program.url)).toBe("A");
    write("switchyard.yaml", "store: memory\nlimits: { depth: 50 }\nagents: [{ file: a.ts }]");
    await program.seen(/"settings":\["limits"\].*these settings take a restart/);
    write("a.ts", AGENT("A2", "answer: () => 'x'"));
    await program.seen(/read again.*\n.*restart.*\n.*read again/);
    expect(await cardName(program.url)).toBe("A2");
  });

  it("reads the configuration again on SIGHUP", async () => {
    const program = await workplace.serve(["--store", "memory"]);
    program.child.kill("SIGHUP");
    await program.seen("the configuration was read again");
    expect(await cardName(program.url)).toBe("Echo");
  });
});

describe("switchyard check", () => {
  it("shows each value with its source and ends with 0", async () => {
    write("switchyard.yaml", "limits: { depth: 50 }");
    const { code, stdout, stderr } = await workplace.run(["check", "--http", "127.0.0.1:1"], {
      SWITCHYARD_LOG: "warn",
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^http +127\.0\.0\.1:1 +--http$/m);
    expect(stdout).toMatch(/^limits\.depth +50 +switchyard\.yaml:1$/m);
    expect(stdout).toMatch(/^log\.level +warn +SWITCHYARD_LOG$/m);
  });

  it("loads agents and cards too, and ends with 1 on problems", async () => {
    write("switchyard.yaml", "agents: [{ file: none.ts }, { tenant: t, card: { nmae: x } }]");
    const { code, stderr } = await workplace.run(["check"]);
    expect(code).toBe(1);
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(
        /^switchyard: switchyard\.yaml:1: agents\[0\]\.file: \S+none\.ts: there is no such file\.$/,
      ),
      expect.stringMatching(/^switchyard: switchyard\.yaml:1: agents\[1\]\.card: nmae/),
      "",
    ]);
  });
});

describe("switchyard status and tasks prune", () => {
  it("speak with the running gateway", async () => {
    const program = await workplace.serve(["--store", "memory"]);
    await send(program.url, "hello");
    const [text, json] = await Promise.all([workplace.run(["status"]), workplace.run(["status", "--json"])]);
    expect(text.code).toBe(0);
    expect(text.stdout).toContain(program.url);
    expect(text.stdout).toMatch(/tasks +1 completed/);
    expect(JSON.parse(json.stdout)).toMatchObject({
      state: "serving",
      version: "0.1.0",
      tenants: [""],
      tasks: { COMPLETED: 1 },
      runs: 0,
      openStreams: 0,
      addresses: { http: { url: program.url } },
    });
    expect(await workplace.run(["tasks", "prune", "--older-than", "1h"])).toMatchObject({
      stdout: "0 tasks forgotten\n",
    });
    expect(
      await workplace.run(["tasks", "prune", "--older-than", "0", "--yes", "--state", "completed"]),
    ).toMatchObject({
      code: 0,
      stdout: "1 tasks forgotten\n",
    });
  });

  it("do without: prune opens the file, status says that none is running", async () => {
    const program = await workplace.serve();
    await send(program.url, "hello");
    program.child.kill("SIGTERM");
    await program.ended;
    expect(await workplace.run(["tasks", "prune", "--older-than", "0", "--yes"])).toMatchObject({
      code: 0,
      stdout: "1 tasks forgotten\n",
    });
    expect(await workplace.run(["status"])).toMatchObject({
      code: 1,
      stderr: `switchyard: no gateway listens on ${join(workplace.directory, ".switchyard/admin.sock")}\n`,
    });
  });

  it.each([
    [["--older-than", "soon"], "switchyard: --older-than must be a time"],
    [["--older-than", "0"], "switchyard: --older-than 0 forgets tasks of any age; say --yes"],
    [["--older-than", "1h", "--state", "working"], "switchyard: --state must be one of completed, failed"],
    [[], "error: required option '--older-than <time>' not specified"],
  ])("refuse %j", async (args, problem) => {
    const { code, stderr } = await workplace.run(["tasks", "prune", ...args]);
    expect(code).toBe(1);
    expect(stderr).toContain(problem);
  });
});
