/** The thread of a stall watch. */
import { writeSync } from "node:fs";
import { type Debugger, Session } from "node:inspector";
import { hostname } from "node:os";
import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type { StallWatchData, WatchedAgent } from "./stall-watch.js";

interface Frame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

const { beat, stallMs } = workerData as StallWatchData;
/** Looks between two lines of the log; counted, not timed, so that a process that was stopped as a whole raises no alarm. */
const LOOKS = 10;
const ERROR_LEVEL = 50;
const WARN_LEVEL = 40;
/** How long the stopped main thread may take to show its stack. */
const STACK_TIMEOUT_MS = 2000;

/** Folder of this program's own code. */
const PROGRAM = fileURLToPath(new URL("..", import.meta.url));

let agents: readonly WatchedAgent[] = [];
let last = -1;
let still = 0;

parentPort?.on("message", (next: readonly WatchedAgent[]) => {
  agents = next;
});
setInterval(look, stallMs / LOOKS);

function look(): void {
  const now = Atomics.load(beat, 0);
  const moved = now !== last;
  if (moved && still >= LOOKS)
    write(WARN_LEVEL, "the process runs on", { stalledMs: (still * stallMs) / LOOKS });
  last = now;
  still = moved ? 0 : still + 1;
  if (still === LOOKS) readStack(report);
}

function report(stack: readonly Frame[]): void {
  const frame =
    stack.find(({ file }) => agentOf(file) !== undefined) ?? stack.find(({ file }) => file !== "");
  const agent = frame && agentOf(frame.file);
  write(ERROR_LEVEL, "synchronous code keeps the process from doing anything else", {
    stallMs,
    ...(agent && { tenant: agent.tenant, agent: agent.file }),
    ...(frame && { function: frame.name || "(anonymous)", place: `${frame.file}:${frame.line}` }),
  });
}

/** The agent whose module this is; else the one in whose folder the file lies. */
function agentOf(file: string): WatchedAgent | undefined {
  const isOwn = !file.includes(`${sep}node_modules${sep}`) && !file.startsWith(PROGRAM);
  return (
    agents.find((agent) => agent.file === file) ??
    (isOwn ? agents.find((agent) => file.startsWith(dirname(agent.file) + sep)) : undefined)
  );
}

/** Stops the main thread for a moment to see what it is doing; the innermost call comes first. Empty when it does not show. */
function readStack(done: (stack: readonly Frame[]) => void): void {
  const session = new Session();
  const scripts = new Map<string, string>();
  let ended = false;
  const end = (stack: readonly Frame[]): void => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    session.disconnect();
    done(stack);
  };
  const timer = setTimeout(() => end([]), STACK_TIMEOUT_MS);
  session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params.url));
  session.on("Debugger.paused", ({ params }) => {
    const stack = params.callFrames.map((frame) => frameOf(frame, scripts));
    session.post("Debugger.resume", () => end(stack));
  });
  try {
    session.connectToMainThread();
    session.post("Debugger.enable");
    session.post("Debugger.pause");
  } catch {
    end([]);
  }
}

function frameOf(
  { functionName, location }: Debugger.CallFrame,
  scripts: ReadonlyMap<string, string>,
): Frame {
  return {
    name: functionName,
    file: fileOf(scripts.get(location.scriptId) ?? ""),
    line: location.lineNumber + 1,
  };
}

/** The path of a script; empty for those of Node itself and for code without a file. */
function fileOf(url: string): string {
  if (url.startsWith("file:")) return fileURLToPath(url.replace(/[?#].*$/s, ""));
  return url.startsWith(sep) ? url.replace(/\?.*$/s, "") : "";
}

/** One line as the log writes them; it may not wait for the main thread, which standard error otherwise does. */
function write(level: number, msg: string, fields: object): void {
  const line = { level, time: Date.now(), pid: process.pid, hostname: hostname(), ...fields, msg };
  writeSync(2, `${JSON.stringify(line)}\n`);
}
