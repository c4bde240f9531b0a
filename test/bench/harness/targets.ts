import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { COMPILED, type Ports, type ServerSpec, WORK } from "./server.js";

const node = process.execPath;
const compiled = (name: string): string => join(COMPILED, "servers", `${name}.js`);

/** A bare floor. */
export function floor(name: "http" | "express" | "grpc" | "connect"): ServerSpec {
  return { name: `floor ${name}`, command: () => [node, compiled(`floor-${name}`)] };
}

/** The official JavaScript SDK. */
export const SDK: ServerSpec = {
  name: "official SDK",
  command: () => [node, compiled("sdk")],
  jsonrpcPath: "/jsonrpc",
  restPrefix: "/rest",
};

/** How the gateway is set up. */
export interface GatewayTarget {
  readonly name: string;
  /** `memory`, or the durability of a fresh SQLite file. */
  readonly store: "memory" | "normal" | "full";
  /** True: the benchmark's agent; false: the built-in echo agent, and all settings but the store's as they are. */
  readonly agent?: boolean;
  /** A SQLite file to use instead of a fresh one. */
  readonly file?: string;
  /** Level of the log. Unset: as it is by default, so every call is logged. */
  readonly log?: string;
  /** Arguments of node. */
  readonly nodeArguments?: readonly string[];
}

/** The gateway as it is built. */
export function gateway(target: GatewayTarget): ServerSpec {
  return {
    name: target.name,
    command: (ports) => [
      node,
      ...(target.nodeArguments ?? []),
      join("dist", "main.js"),
      "serve",
      "--config",
      writeConfig(target, ports),
    ],
  };
}

function writeConfig(target: GatewayTarget, { http, grpc }: Ports): string {
  const folder = join(WORK, "gateways", target.name.replaceAll(/[^a-z0-9]+/gi, "-"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "switchyard.yaml");
  const store =
    target.store === "memory"
      ? "memory"
      : { path: resolve(target.file ?? join(folder, "tasks.db")), durability: target.store };
  const config = {
    http: `127.0.0.1:${http}`,
    grpc: `127.0.0.1:${grpc}`,
    store,
    adminSocket: "off",
    ...(target.agent && { agents: [{ file: resolve(compiled("agent")) }] }),
    ...(target.log && { log: target.log }),
  };
  writeFileSync(file, JSON.stringify(config, null, 2));
  return file;
}
