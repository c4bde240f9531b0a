import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compiledPackage } from "./package.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** How a program ended. */
export interface Ended {
  /** Exit code, or the signal that killed it. */
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running `switchyard`. */
export interface Program {
  readonly child: ChildProcess;
  /** Resolves when the text has been written to either stream; rejects when the program ends without. */
  seen(text: string | RegExp): Promise<RegExpExecArray>;
  /** The lines of the log so far. */
  log(): Record<string, unknown>[];
  ended: Promise<Ended>;
}

/** Starts the program in `directory`; the environment has no SWITCHYARD_ but what is given. */
export function startProgram(
  args: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>> = {},
): Program {
  const clean = Object.entries(process.env).filter(([name]) => !/^(SWITCHYARD_|VITEST)/.test(name));
  const main = join(compiledPackage(), "dist/src/main.js");
  const child = spawn(process.execPath, [main, ...args], {
    cwd: directory,
    env: { ...Object.fromEntries(clean), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const watchers = new Set<() => void>();
  const wake = () => {
    for (const watcher of watchers) watcher();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    wake();
  });
  const ended = once(child, "close").then(([code, signal]): Ended => {
    wake();
    return { code: (code ?? signal) as number | NodeJS.Signals, stdout, stderr };
  });
  const seen = (text: string | RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const pattern =
        typeof text === "string" ? new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")) : text;
      const look = () => {
        const match = pattern.exec(stdout) ?? pattern.exec(stderr);
        if (match === null && child.exitCode === null && child.signalCode === null) return;
        watchers.delete(look);
        if (match !== null) resolve(match);
        else reject(new Error(`The program ended without writing ${pattern}:\n${stdout}\n${stderr}`));
      };
      watchers.add(look);
      look();
    });
  return {
    child,
    seen,
    ended,
    log: () =>
      stderr
        .split("\n")
        .filter((line) => line.startsWith("{") && line.endsWith("}"))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

/** Folders and programs of one test, ended and removed by `close`. */
export interface Workplace {
  readonly directory: string;
  /** Starts a program here. */
  start(args: readonly string[], environment?: Readonly<Record<string, string>>): Program;
  /** Runs a program here until it ends by itself. */
  run(args: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Starts `serve` on free ports and waits until it says where it listens. */
  serve(
    args?: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ): Promise<Program & { readonly url: string }>;
  close(): Promise<void>;
}

/** Makes a folder for a test's programs. */
export function createWorkplace(): Workplace {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-cli-"));
  // As an author has it who installed the package: what it depends on lies beside it.
  mkdirSync(join(directory, "node_modules"));
  symlinkSync(compiledPackage(), join(directory, "node_modules", "switchyard"));
  symlinkSync(join(ROOT, "node_modules", "@bufbuild"), join(directory, "node_modules", "@bufbuild"));
  const programs: Program[] = [];
  const start: Workplace["start"] = (args, environment) => {
    const program = startProgram(args, directory, environment);
    programs.push(program);
    return program;
  };
  return {
    directory,
    start,
    run: async (args, environment) => await start(args, environment).ended,
    async serve(args = [], environment) {
      const ports = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
      const program = start(["serve", ...ports, ...args], environment);
      const [, url = ""] = await program.seen(/^ {2}HTTP +(http\S+)/m);
      await program.seen(/^ {2}card .*\n/m);
      return { ...program, url };
    },
    async close() {
      for (const { child } of programs) child.kill("SIGKILL");
      await Promise.all(programs.map(({ ended }) => ended));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** What `send` says besides its text. */
export interface SendOptions {
  /** More fields of the message, or others in place of its own. */
  readonly message?: object;
  readonly returnImmediately?: boolean;
}

const HEADERS = { "content-type": "application/json", "a2a-version": "1.0" };

/** The body of a SendMessage request in ProtoJSON. */
export function sendBody(
  text: string,
  { message = {}, returnImmediately = false }: SendOptions = {},
): string {
  return JSON.stringify({
    message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...message },
    configuration: { returnImmediately },
  });
}

/** Sends a text over REST and returns what comes back. */
export async function send(url: string, text: string, options?: SendOptions): Promise<Sent> {
  const request = { method: "POST", headers: HEADERS, body: sendBody(text, options) };
  return (await (await fetch(`${url}/message:send`, request)).json()) as Sent;
}

/** Sends a text over REST and yields each event of the stream. */
export async function* sendStreaming(
  url: string,
  text: string,
  options?: SendOptions,
): AsyncGenerator<StreamEvent> {
  const request = { method: "POST", headers: HEADERS, body: sendBody(text, options) };
  const response = await fetch(`${url}/message:stream`, request);
  if (response.body === null) return;
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as StreamEvent;
  }
}

/** Reads a task over REST. */
export async function getTask(url: string, id: string): Promise<JsonTask> {
  return (await (await fetch(`${url}/tasks/${id}`, { headers: HEADERS })).json()) as JsonTask;
}

/** An event of a stream in ProtoJSON, as far as tests read it. */
export interface StreamEvent {
  readonly task?: JsonTask;
  readonly message?: Sent["message"];
  readonly statusUpdate?: Pick<JsonTask, "status">;
  readonly artifactUpdate?: {
    readonly artifact: NonNullable<JsonTask["artifacts"]>[number];
    readonly append?: boolean;
    readonly lastChunk?: boolean;
  };
}

/** The answer to SendMessage in ProtoJSON, as far as tests read it. */
export interface Sent {
  readonly message?: { readonly parts: readonly JsonPart[] };
  readonly task?: JsonTask;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A task in ProtoJSON. */
export interface JsonTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly message?: { readonly parts: readonly JsonPart[] } };
  readonly artifacts?: readonly { readonly artifactId: string; readonly parts: readonly JsonPart[] }[];
}

/** A part in ProtoJSON. */
export interface JsonPart {
  readonly text?: string;
  readonly raw?: string;
  readonly url?: string;
  readonly data?: unknown;
  readonly filename?: string;
  readonly mediaType?: string;
}
