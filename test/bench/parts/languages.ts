import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Load } from "../harness/load.js";
import { type Findings, figureTable, type Table } from "../harness/report.js";
import { type Candidate, measure } from "../harness/rounds.js";
import { type Server, type ServerSpec, WORK } from "../harness/server.js";
import { withServers } from "../harness/session.js";
import { gateway, SDK } from "../harness/targets.js";
import { getTask, sendMessage, taskOf, WIRE_TITLES, type WireName } from "../harness/wires.js";

const TEXT = "Hello, agent.";
const WIRES: readonly WireName[] = ["jsonrpc", "rest", "grpc"];
const SOURCES = join("test", "bench", "servers");
const OURS = "SQLite";

interface Peer {
  readonly name: string;
  /** Fetches and compiles what the server needs; throws when the toolchain is not there. */
  readonly prepare: () => void;
  readonly spec: ServerSpec;
}

const python = join(WORK, "python");
const goServer = resolve(WORK, "go-server");

const PEERS: readonly Peer[] = [
  {
    name: "Python SDK",
    prepare: () => {
      if (!existsSync(python)) run("python3", ["-m", "venv", python]);
      run(join(python, "bin", "pip"), [
        "install",
        "--quiet",
        "--requirement",
        join(SOURCES, "python", "requirements.txt"),
      ]);
    },
    spec: {
      name: "Python SDK",
      command: () => [join(python, "bin", "python"), join(SOURCES, "python", "server.py")],
    },
  },
  {
    name: "Go SDK",
    prepare: () => run("go", ["build", "-C", join(SOURCES, "go"), "-o", goServer, "."]),
    spec: { name: "Go SDK", command: () => [goServer], jsonrpcPath: "/jsonrpc", restPrefix: "/rest" },
  },
];

/** The official SDKs of other languages, with their own echo agents and memory stores. */
export async function languages(): Promise<Findings> {
  mkdirSync(WORK, { recursive: true });
  const missing: string[] = [];
  const peers = PEERS.filter(({ name, prepare }) => {
    try {
      prepare();
      return true;
    } catch (error) {
      missing.push(`${name} left out: ${(error as Error).message.split("\n")[0]}`);
      return false;
    }
  });
  const specs = {
    [OURS]: gateway({ name: OURS, store: "normal" }),
    SDK,
    ...Object.fromEntries(peers.map(({ name, spec }) => [name, spec])),
  };
  const tables = await withServers(specs, async (load, servers) => [
    await table(load, "GetTask", Object.entries(servers), getRequest),
    await table(load, "SendMessage", Object.entries(servers), sendRequest),
  ]);
  return {
    title: "Beside the SDKs of other languages",
    method: ["32 calls in flight; each server on one core.", ...missing].join(" "),
    verdicts: [],
    tables,
  };
}

type Prepare = (load: Load, wire: WireName, server: Server) => Promise<Candidate["request"]>;

const getRequest: Prepare = async (load, wire, server) =>
  getTask(wire, server, await taskOf(load, "jsonrpc", sendMessage("jsonrpc", server, TEXT)));
const sendRequest: Prepare = async (_load, wire, server) => sendMessage(wire, server, TEXT);

async function table(
  load: Load,
  title: string,
  servers: readonly (readonly [string, Server])[],
  prepare: Prepare,
): Promise<Table> {
  const candidates: Candidate[] = [];
  for (const [name, server] of servers) {
    for (const wire of WIRES) {
      candidates.push({
        name: `${name}, ${WIRE_TITLES[wire]}`,
        server,
        request: await prepare(load, wire, server),
      });
    }
  }
  const figures = await measure(load, candidates, { ms: 1500, rounds: 4 });
  return figureTable(
    title,
    figures,
    figures.filter(({ name }) => name === `${OURS}, JSON-RPC` || name === `${OURS}, gRPC`),
  );
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"] });
}
