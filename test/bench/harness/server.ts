import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SERVER_CORE } from "./host.js";

/** Where runs leave logs, stores and results. */
export const WORK = join(".tmp", "bench");
/** The compiled benchmark: what is measured runs without a loader. */
export const COMPILED = join(WORK, "js", "test", "bench");

/** How a server is started. `HTTP_PORT` and `GRPC_PORT` are in its environment. */
export interface ServerSpec {
  readonly name: string;
  /** Program and arguments for the given ports. */
  readonly command: (ports: Ports) => readonly string[];
  /** Path of the JSON-RPC endpoint. Default `/`. */
  readonly jsonrpcPath?: string;
  /** Prefix of the REST paths. Default none. */
  readonly restPrefix?: string;
}

export interface Ports {
  readonly http: number;
  readonly grpc: number;
}

/** A server that runs alone on its core. */
export interface Server extends Ports {
  readonly name: string;
  readonly pid: number;
  readonly jsonrpcPath: string;
  readonly restPrefix: string;
  /** Heap in use after a full collection; only for servers started with `WITH_MEMORY`. */
  heapBytes(): Promise<number>;
  stop(): Promise<void>;
}

/** Arguments of node that let `heapBytes` work. */
export const WITH_MEMORY = ["--expose-gc", "--import", join(process.cwd(), COMPILED, "servers", "memory.js")];

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Resolves when both ports accept connections. */
export async function startServer(spec: ServerSpec): Promise<Server> {
  const ports = { http: await freePort(), grpc: await freePort() };
  const child = launch(spec, ports);
  await Promise.all([accepts(ports.http, child, spec.name), accepts(ports.grpc, child, spec.name)]);
  return {
    ...ports,
    name: spec.name,
    pid: child.pid as number,
    jsonrpcPath: spec.jsonrpcPath ?? "/",
    restPrefix: spec.restPrefix ?? "",
    heapBytes: () => heapOf(child),
    stop: () => stop(child),
  };
}

/** Starts a server without waiting for it. */
export function launch(spec: ServerSpec, ports: Ports): ChildProcess {
  mkdirSync(join(WORK, "logs"), { recursive: true });
  const log = openSync(logOf(spec.name), "w");
  const child = spawn("taskset", ["-c", String(SERVER_CORE), ...spec.command(ports)], {
    env: { ...process.env, HTTP_PORT: String(ports.http), GRPC_PORT: String(ports.grpc) },
    stdio: ["ignore", log, log, "ipc"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Ends a server; waits until it is gone. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 3000);
  await gone;
  clearTimeout(timer);
}

/** A port that nobody listens on just now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

async function accepts(port: number, child: ChildProcess, name: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (child.exitCode !== null) break;
    if (await connects(port)) return;
    await sleep(50);
  }
  throw new Error(`${name} does not listen:\n${readFileSync(logOf(name), "utf8").slice(-2000)}`);
}

/** True when something listens at the port. */
function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

function heapOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("message", (answer) => resolve((answer as { readonly heapBytes: number }).heapBytes));
    child.send("memory");
  });
}

function logOf(name: string): string {
  return join(WORK, "logs", `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.log`);
}
