import type { Load } from "../harness/load.js";
import { atMost, type Findings, number, percent, type Table, type Verdict } from "../harness/report.js";
import { type Candidate, type Figure, measure } from "../harness/rounds.js";
import type { Server } from "../harness/server.js";
import { withServers } from "../harness/session.js";
import { floor, gateway, SDK } from "../harness/targets.js";
import { streamMessage, WIRE_TITLES, type WireName } from "../harness/wires.js";

interface Size {
  readonly chunks: number;
  readonly inFlight: number;
  readonly ms: number;
}

const SIZES: readonly Size[] = [
  { chunks: 10, inFlight: 32, ms: 1000 },
  { chunks: 100, inFlight: 32, ms: 1000 },
  { chunks: 1000, inFlight: 4, ms: 1000 },
  { chunks: 10_000, inFlight: 2, ms: 1500 },
];
/** The SDK's cost grows with the square of the chunks: few streams of this length, and no longer ones. */
const SDK_CHUNKS = 1000;
const SDK_FEW = { inFlight: 1, ms: 1, warmCalls: 1, rounds: 2, repeats: 0 };
const OURS: readonly WireName[] = ["jsonrpc", "rest", "grpc"];

const SERVERS = {
  http: floor("http"),
  grpc: floor("grpc"),
  sdk: SDK,
  memory: gateway({ name: "memory", store: "memory", agent: true }),
  sqlite: gateway({ name: "SQLite", store: "normal", agent: true }),
};

interface Row extends Figure {
  readonly chunks: number;
}

/** Streams of growing length: CPU for each event, and whether the next chunk costs what the first did. */
export function streams(): Promise<Findings> {
  return withServers(SERVERS, async (load, servers) => {
    const rows: Row[] = [];
    for (const size of SIZES) rows.push(...(await measureSize(load, servers, size)));
    return {
      title: "Streams",
      method:
        "SendStreamingMessage; the agent puts out one artifact in pieces of 24 characters as fast as they are taken. Chunks 10 and 100: 32 streams at once, 1 000: 4, 10 000: 2.",
      verdicts: verdicts(rows),
      tables: [table(rows)],
    };
  });
}

async function measureSize(
  load: Load,
  servers: Readonly<Record<keyof typeof SERVERS, Server>>,
  { chunks, inFlight, ms }: Size,
): Promise<Row[]> {
  const one = (name: string, wire: WireName, server: Server): Candidate => ({
    name,
    server,
    request: streamMessage(wire, server, `chunks ${chunks}`),
  });
  const sdk = (["jsonrpc", "grpc"] as const).map((wire) =>
    one(`SDK, ${WIRE_TITLES[wire]}`, wire, servers.sdk),
  );
  const candidates = [
    one("node:http", "jsonrpc", servers.http),
    one("grpc-js", "grpc", servers.grpc),
    ...(chunks < SDK_CHUNKS ? sdk : []),
    one("memory, JSON-RPC", "jsonrpc", servers.memory),
    ...OURS.map((wire) => one(`SQLite, ${WIRE_TITLES[wire]}`, wire, servers.sqlite)),
  ];
  const figures = await measure(load, candidates, { inFlight, ms, warmCalls: 20_000 / chunks, repeats: 4 });
  if (chunks === SDK_CHUNKS) figures.push(...(await measure(load, sdk, SDK_FEW)));
  return figures.map((figure) => ({ ...figure, chunks }));
}

const perEvent = ({ cpuUs, events }: Figure): number => cpuUs / events;

function table(rows: readonly Row[]): Table {
  return {
    head: [
      "",
      "chunks",
      "CPU µs an event",
      "÷ floor",
      "÷ SDK",
      "spread",
      "events/s",
      "bytes an event",
      "others",
    ],
    rows: rows.map((row) => {
      const beside = (name: string) =>
        rows.find((other) => other.name === name && other.chunks === row.chunks);
      const ratio = (other: Row | undefined) => (other ? number(perEvent(row) / perEvent(other)) : "–");
      const isGrpc = row.name.toLowerCase().includes("grpc");
      return [
        row.name,
        number(row.chunks),
        number(perEvent(row)),
        ratio(beside(isGrpc ? "grpc-js" : "node:http")),
        ratio(beside(isGrpc ? "SDK, gRPC" : "SDK, JSON-RPC")),
        percent(row.spread),
        number(row.callsPerSecond * row.events),
        number(row.bytes / row.events),
        percent(row.others),
      ];
    }),
  };
}

function verdicts(rows: readonly Row[]): Verdict[] {
  return OURS.flatMap((wire) => {
    const title = WIRE_TITLES[wire];
    const at = (chunks: number) =>
      rows.find((row) => row.name === `SQLite, ${title}` && row.chunks === chunks) as Row;
    const marginal = (from: number, to: number) => (at(to).cpuUs - at(from).cpuUs) / (to - from);
    const growth = marginal(1000, 10_000) / marginal(100, 1000);
    return [
      atMost(`${title}, 100 chunks, durable: at most 15 µs an event`, perEvent(at(100)), 15, " µs"),
      atMost(`${title}: a chunk past 1 000 at most 1.3 × one before`, growth, 1.3, " ×"),
    ];
  });
}
