import { halfPaces, measurePaces, type Pace, type PacedFigure } from "../harness/half-load.js";
import type { Load } from "../harness/load.js";
import { type Findings, number, type Table, type Verdict } from "../harness/report.js";
import type { Candidate } from "../harness/rounds.js";
import type { Server } from "../harness/server.js";
import { withServers } from "../harness/session.js";
import { floor, gateway, SDK } from "../harness/targets.js";
import { getTask, sendMessage, streamMessage, taskOf, WIRE_TITLES, type WireName } from "../harness/wires.js";

const TEXT = "Hello, agent.";
const WIRES: readonly WireName[] = ["jsonrpc", "rest", "grpc"];
const STREAMS = 32;
const WARM_MS = 1000;
const STREAM_MS = 2000;
const STREAM_ROUNDS = 3;

const SERVERS = {
  http: floor("http"),
  grpc: floor("grpc"),
  sdk: SDK,
  sqlite: gateway({ name: "SQLite", store: "normal", agent: true }),
};
type Servers = Readonly<Record<keyof typeof SERVERS, Server>>;

/** How long calls take when the server is half busy, and how evenly streams share it when it is full. */
export function latency(): Promise<Findings> {
  return withServers(SERVERS, async (load, servers) => {
    const half = await halfLoad(load, servers);
    const shared = await fullStreams(load, streamCandidates(servers));
    return {
      title: "Latency",
      method: `Half load: calls at a constant rate of half of what one core has time for, by the least CPU cost of a call in three short rounds; a call's time counts from when it was due. Each rate is tried four times, all in turn, and the floor is given the same calls a second besides. A try counts when the server got through at least 1.3 times the rate just before and after it, and neither core lost more than 5 % to others or to the host; of those that count the one with the least p99 is shown, with the highest p99 divided by it (spread). Streams: ${STREAMS} streams of 100 chunks at once, each from its request to its end; the best of ${STREAM_ROUNDS} rounds, all in turn.`,
      verdicts: [
        ...half.filter(({ figure }) => isOurs(figure)).map(({ figure }) => halfVerdict(figure)),
        ...shared.filter(isOurs).map(streamVerdict),
      ],
      tables: [halfTable(half), streamTable(shared)],
    };
  });
}

interface Row {
  readonly figure: PacedFigure;
  /** The bare server of the same wire with as many calls a second. */
  readonly floor?: PacedFigure;
}

async function halfLoad(load: Load, servers: Servers): Promise<Row[]> {
  const paces = await halfPaces(load, await unaryCandidates(load, servers));
  const floors = paces.map((pace) => (isOurs(pace.candidate) ? atFloor(pace, servers) : undefined));
  const all = paces.flatMap((pace, index) => [pace, ...(floors[index] ? [floors[index]] : [])]);
  const figures = await measurePaces(load, all);
  const figureOf = (pace: Pace) => figures[all.indexOf(pace)] as PacedFigure;
  return paces.map((pace, index) => {
    const beside = floors[index];
    return { figure: figureOf(pace), ...(beside && { floor: figureOf(beside) }) };
  });
}

async function unaryCandidates(load: Load, servers: Servers): Promise<Candidate[]> {
  const { sdk, sqlite } = servers;
  const task = await taskOf(load, "jsonrpc", sendMessage("jsonrpc", sqlite, TEXT));
  return [
    floorCandidate("jsonrpc", servers),
    floorCandidate("grpc", servers),
    { name: "SDK, SendMessage, JSON-RPC", server: sdk, request: sendMessage("jsonrpc", sdk, TEXT) },
    ...WIRES.flatMap((wire) => [
      { name: `SQLite, GetTask, ${WIRE_TITLES[wire]}`, server: sqlite, request: getTask(wire, sqlite, task) },
      {
        name: `SQLite, SendMessage, ${WIRE_TITLES[wire]}`,
        server: sqlite,
        request: sendMessage(wire, sqlite, TEXT),
      },
    ]),
  ];
}

function floorCandidate(wire: "jsonrpc" | "grpc", { http, grpc }: Servers): Candidate {
  const [name, server] = wire === "grpc" ? ["grpc-js", grpc] : ["node:http", http];
  return { name, server, request: sendMessage(wire, server, TEXT) };
}

const atFloor = ({ candidate, perSecond }: Pace, servers: Servers): Pace => ({
  candidate: floorCandidate(candidate.request.kind === "grpc" ? "grpc" : "jsonrpc", servers),
  perSecond,
});

interface Shared {
  readonly name: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

function streamCandidates({ sdk, sqlite }: Servers): Candidate[] {
  const one = (name: string, wire: WireName, server: Server): Candidate => ({
    name: `${name}, ${WIRE_TITLES[wire]}`,
    server,
    request: streamMessage(wire, server, "chunks 100"),
  });
  return [one("SDK", "jsonrpc", sdk), ...WIRES.map((wire) => one("SQLite", wire, sqlite))];
}

async function fullStreams(load: Load, candidates: readonly Candidate[]): Promise<Shared[]> {
  for (const { request } of candidates) await load.closed(request, STREAMS, WARM_MS);
  const best: Shared[] = [];
  for (let round = 0; round < STREAM_ROUNDS; round += 1) {
    for (const [index, { name, request }] of candidates.entries()) {
      const { calls, elapsedMs, p50Ms, p99Ms } = await load.closed(request, STREAMS, STREAM_MS);
      const seen = { name, perSecond: (calls * 1000) / elapsedMs, p50Ms, p99Ms };
      if (best[index] === undefined || ratio(seen) < ratio(best[index])) best[index] = seen;
    }
  }
  return best;
}

const ratio = ({ p50Ms, p99Ms }: Pick<Shared, "p50Ms" | "p99Ms">): number => p99Ms / p50Ms;
const isOurs = ({ name }: { readonly name: string }): boolean => name.startsWith("SQLite");

function halfVerdict(figure: PacedFigure): Verdict {
  const met = figure.discarded < figure.tries ? ratio(figure) < 5 : undefined;
  return {
    aim: `${figure.name}, at half load: p99 under 5 × p50`,
    measured: `${number(ratio(figure))} ×`,
    met,
  };
}

function streamVerdict(row: Shared): Verdict {
  const measured = `${number(ratio(row))} ×`;
  return { aim: `${row.name}, 32 streams: p99 under 3 × the median`, measured, met: ratio(row) < 3 };
}

function halfTable(rows: readonly Row[]): Table {
  return {
    title: "At half load",
    head: [
      "",
      "calls/s",
      "p50 ms",
      "p99 ms",
      "p99 ÷ p50",
      "spread",
      "discarded",
      "floor's p99 ms",
      "÷ floor's",
    ],
    rows: rows.map(({ figure, floor: beside }) => [
      figure.name,
      ...[figure.perSecond, figure.p50Ms, figure.p99Ms, ratio(figure), figure.spread].map(number),
      `${figure.discarded} of ${figure.tries}`,
      ...(beside ? [number(beside.p99Ms), number(figure.p99Ms / beside.p99Ms)] : ["", ""]),
    ]),
  };
}

function streamTable(rows: readonly Shared[]): Table {
  return {
    title: "32 streams of 100 chunks at once",
    head: ["", "streams/s", "p50 ms", "p99 ms", "p99 ÷ p50"],
    rows: rows.map((row) => [row.name, ...[row.perSecond, row.p50Ms, row.p99Ms, ratio(row)].map(number)]),
  };
}
