import type { Load } from "../harness/load.js";
import { atMost, type Findings, figureTable, type Verdict } from "../harness/report.js";
import type { RequestSpec } from "../harness/request.js";
import { type Candidate, type Figure, measure } from "../harness/rounds.js";
import type { Server, ServerSpec } from "../harness/server.js";
import { withServers } from "../harness/session.js";
import { floor, gateway, SDK } from "../harness/targets.js";
import { getTask, sendMessage, taskOf, WIRE_TITLES, type WireName } from "../harness/wires.js";

const TEXT = "Hello, agent.";
const OFFICIAL: readonly WireName[] = ["jsonrpc", "rest", "grpc"];
const ALL: readonly WireName[] = [...OFFICIAL, "connect", "grpc-web", "grpc-h2c"];

const FLOORS = {
  http: floor("http"),
  express: floor("express"),
  grpc: floor("grpc"),
  connect: floor("connect"),
};

/** A server that is measured on several wires. */
interface Subject {
  readonly name: string;
  readonly wires: readonly WireName[];
  readonly spec: (name: string) => ServerSpec;
}

const SUBJECTS: readonly Subject[] = [
  { name: "SDK", wires: OFFICIAL, spec: (name) => ({ ...SDK, name }) },
  { name: "memory", wires: OFFICIAL, spec: (name) => gateway({ name, store: "memory" }) },
  { name: "SQLite", wires: ALL, spec: (name) => gateway({ name, store: "normal" }) },
];
const FULL: Subject = {
  name: "SQLite full",
  wires: OFFICIAL,
  spec: (name) => gateway({ name, store: "full" }),
};

/** Makes the request that is measured; it may prepare the server for it. */
type Prepare = (load: Load, wire: WireName, server: Server) => Promise<RequestSpec>;

const prepareGet: Prepare = async (load, wire, server) =>
  getTask(wire, server, await taskOf(load, "rest", sendMessage("rest", server, TEXT)));
const prepareSend: Prepare = async (_load, wire, server) => sendMessage(wire, server, TEXT);
/** Floors hold no tasks: any id will do. */
const prepareFloorGet: Prepare = async (_load, wire, server) =>
  getTask(wire, server, "5a8f43ce-8a3c-4c0b-9d3c-6b1c0b8d5e11");

/** A machine may change its speed within seconds: many short rounds give each candidate a fast one, in under five minutes. */
const ROUND = { ms: 250, rounds: 30, repeats: 72 };

/** GetTask on every wire. */
export function get(): Promise<Findings> {
  return run("GetTask", SUBJECTS, {
    prepare: prepareGet,
    prepareFloor: prepareFloorGet,
    verdicts: getVerdicts,
  });
}

/** SendMessage on every wire: the echo agent's whole task, from its message to COMPLETED. */
export function send(): Promise<Findings> {
  const subjects = [...SUBJECTS, FULL];
  return run("SendMessage", subjects, {
    prepare: prepareSend,
    prepareFloor: prepareSend,
    verdicts: sendVerdicts,
  });
}

interface How {
  readonly prepare: Prepare;
  readonly prepareFloor: Prepare;
  readonly verdicts: (figures: readonly Figure[]) => readonly Verdict[];
}

/** Each wire of a subject has a server of its own, as its floor has: what one wire does to the code of another is no part of it. */
async function run(
  operation: string,
  subjects: readonly Subject[],
  { prepare, prepareFloor, verdicts }: How,
): Promise<Findings> {
  const kinds = subjects.flatMap(({ name, wires, spec }) =>
    wires.map((wire) => ({ name: `${name}, ${WIRE_TITLES[wire]}`, wire, spec })),
  );
  const own = Object.fromEntries(kinds.map(({ name, spec }) => [name, spec(name)]));
  return await withServers<string, Findings>({ ...FLOORS, ...own }, async (load, servers) => {
    const candidates = await floors(load, servers as unknown as Floors, prepareFloor);
    for (const { name, wire } of kinds) {
      const server = servers[name] as Server;
      candidates.push({ name, server, request: await prepare(load, wire, server) });
    }
    const figures = await measure(load, candidates, ROUND);
    return findings(operation, figures, verdicts(figures));
  });
}

type Floors = Readonly<Record<"http" | "express" | "grpc" | "connect", Server>>;

async function floors(load: Load, servers: Floors, prepare: Prepare): Promise<Candidate[]> {
  const { http, express, grpc, connect } = servers;
  return [
    { name: "node:http", server: http, request: await prepare(load, "jsonrpc", http) },
    { name: "Express", server: express, request: await prepare(load, "jsonrpc", express) },
    { name: "grpc-js", server: grpc, request: await prepareFloorGet(load, "grpc", grpc) },
    { name: "grpc-js, protobuf in and out", server: grpc, request: await prepareSend(load, "grpc", grpc) },
    {
      name: "connect-node, HTTP/1.1 JSON",
      server: connect,
      request: await prepare(load, "connect", connect),
    },
    { name: "connect-node, HTTP/2 gRPC", server: connect, request: await prepare(load, "grpc", connect) },
  ];
}

function findings(operation: string, figures: readonly Figure[], verdicts: readonly Verdict[]): Findings {
  return {
    title: operation,
    method:
      "32 calls in flight; a server for each row but the floors'. One message with one short text; the echo agent makes one artifact of it.",
    verdicts,
    tables: [figureTable(operation, figures, [find(figures, "node:http"), find(figures, "grpc-js")])],
  };
}

function getVerdicts(figures: readonly Figure[]): Verdict[] {
  const ratio = (name: string, to: string) => cost(figures, name) / cost(figures, to);
  return [
    atMost("JSON-RPC at most 2.2 × node:http with JSON", ratio("SQLite, JSON-RPC", "node:http"), 2.2, " ×"),
    atMost("REST at most 2.2 × node:http with JSON", ratio("SQLite, REST", "node:http"), 2.2, " ×"),
    atMost("gRPC at most 1.4 × grpc-js", ratio("SQLite, gRPC", "grpc-js"), 1.4, " ×"),
    atMost("JSON-RPC at most 0.33 × SDK", ratio("SQLite, JSON-RPC", "SDK, JSON-RPC"), 0.333, " ×"),
    atMost("REST at most 0.33 × SDK", ratio("SQLite, REST", "SDK, REST"), 0.333, " ×"),
  ];
}

function sendVerdicts(figures: readonly Figure[]): Verdict[] {
  const ratio = (name: string, to: string) => cost(figures, name) / cost(figures, to);
  return [
    atMost(
      "JSON-RPC, durable, at most 0.33 × SDK in memory",
      ratio("SQLite, JSON-RPC", "SDK, JSON-RPC"),
      0.333,
      " ×",
    ),
    atMost("REST, durable, at most 0.33 × SDK in memory", ratio("SQLite, REST", "SDK, REST"), 0.333, " ×"),
    atMost("JSON-RPC, durable, at most 120 µs", cost(figures, "SQLite, JSON-RPC"), 120, " µs"),
    atMost("REST, durable, at most 120 µs", cost(figures, "SQLite, REST"), 120, " µs"),
    atMost("gRPC, durable, at most 110 µs", cost(figures, "SQLite, gRPC"), 110, " µs"),
  ];
}

const find = (figures: readonly Figure[], name: string): Figure | undefined =>
  figures.find((figure) => figure.name === name);
const cost = (figures: readonly Figure[], name: string): number => find(figures, name)?.cpuUs ?? Number.NaN;
