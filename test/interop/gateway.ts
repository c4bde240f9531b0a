import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ROOT } from "./clients.js";

/** The gateway as its users start it. */
export interface RunningGateway {
  /** Base URL of the HTTP port. */
  readonly base: string;
  stop(): Promise<void>;
}

/** Starts the built program with the configuration beside this file. Rejects when it ends before it listens. */
export async function startGateway(): Promise<RunningGateway> {
  const config = join(ROOT, "test", "interop", "switchyard.yaml");
  const child = spawn(process.execPath, [join(ROOT, "dist", "main.js"), "serve", "--config", config], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const [, base] = /(http:\/\/[\d.]+:\d+)\/\.well-known/.exec(line) ?? [];
    if (base === undefined) continue;
    child.stdout.resume();
    return {
      base,
      async stop() {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }
  const [code] = await ended;
  throw new Error(`the gateway ended with ${code} before it listened`);
}
