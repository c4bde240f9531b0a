import { setTimeout as sleep } from "node:timers/promises";
import { residentBytes } from "../harness/host.js";
import type { Load } from "../harness/load.js";
import { atMost, type Findings, number } from "../harness/report.js";
import type { RequestSpec } from "../harness/request.js";
import { type Server, type ServerSpec, WITH_MEMORY } from "../harness/server.js";
import { withServers } from "../harness/session.js";
import { floor, gateway, SDK } from "../harness/targets.js";
import { startTask, streamMessage, subscribe, taskOf, WIRE_TITLES, type WireName } from "../harness/wires.js";

const STREAMS = 10_000;
const WARM = 200;
/** Until a server has noticed that its clients left. */
const SETTLE_MS = 3000;

interface Kind {
  readonly name: string;
  readonly request: (load: Load, wire: WireName, server: Server) => Promise<RequestSpec>;
}

const SUBSCRIBER: Kind = {
  name: "SubscribeToTask, one task for all",
  request: async (load, wire, server) =>
    subscribe(wire, server, await taskOf(load, "jsonrpc", startTask("jsonrpc", server, "hold"))),
};
const STREAM: Kind = {
  name: "SendStreamingMessage, each with a task of its own",
  request: async (_load, wire, server) => streamMessage(wire, server, "hold"),
};

interface Memory {
  readonly resident: number;
  readonly heap: number;
}

interface Row {
  readonly name: string;
  /** Bytes for each stream. */
  readonly each: Memory;
  /** Bytes for each stream that are still there once all are gone. */
  readonly left: Memory;
}

/** Many streams on which nothing happens: memory for each. */
export async function idle(): Promise<Findings> {
  const ours = gateway({ name: "SQLite", store: "normal", agent: true, nodeArguments: WITH_MEMORY });
  const rows = [
    await measureIdle("node:http", withMemory(floor("http")), "jsonrpc", STREAM),
    await measureIdle("grpc-js", withMemory(floor("grpc")), "grpc", STREAM),
    await measureIdle("SDK, JSON-RPC", withMemory(SDK), "jsonrpc", SUBSCRIBER),
  ];
  for (const kind of [SUBSCRIBER, STREAM]) {
    for (const wire of ["jsonrpc", "grpc"] as const) {
      rows.push(await measureIdle(`SQLite, ${WIRE_TITLES[wire]}`, ours, wire, kind));
    }
  }
  return {
    title: "Idle streams",
    method: `${number(STREAMS)} streams at once, each after its first event; gRPC: 100 on a connection. Resident memory and heap of the server after a full collection, above what they were with none; then again when all clients have left: the tasks that they began are still being worked on.`,
    verdicts: rows
      .filter(({ name }) => name.startsWith("SQLite"))
      .map(({ name, each }) => atMost(`${name}: under 20 KiB each`, each.resident / 1024, 20, " KiB")),
    tables: [
      {
        head: [
          "",
          "resident KiB each",
          "heap KiB each",
          "resident KiB each, left behind",
          "heap KiB each, left behind",
        ],
        rows: rows.map(({ name, each, left }) => [
          name,
          ...[each.resident, each.heap, left.resident, left.heap].map((bytes) => number(bytes / 1024)),
        ]),
      },
    ],
  };
}

function withMemory(spec: ServerSpec): ServerSpec {
  return {
    ...spec,
    command: (ports) => {
      const [program = "", ...rest] = spec.command(ports);
      return [program, ...WITH_MEMORY, ...rest];
    },
  };
}

function measureIdle(name: string, spec: ServerSpec, wire: WireName, kind: Kind): Promise<Row> {
  return withServers({ server: spec }, async (load, { server }) => {
    const request = await kind.request(load, wire, server);
    await load.hold(request, WARM);
    await load.drop();
    await sleep(SETTLE_MS);
    const before = await memoryOf(server);
    await load.hold(request, STREAMS);
    const open = await memoryOf(server);
    await load.drop();
    await sleep(SETTLE_MS);
    const after = await memoryOf(server);
    const each = (memory: Memory): Memory => ({
      resident: (memory.resident - before.resident) / STREAMS,
      heap: (memory.heap - before.heap) / STREAMS,
    });
    return { name: `${name}: ${kind.name}`, each: each(open), left: each(after) };
  });
}

async function memoryOf(server: Server): Promise<Memory> {
  await server.heapBytes();
  const heap = await server.heapBytes();
  return { heap, resident: residentBytes(server.pid) };
}
