import { randomUUID } from "node:crypto";
import { cpuBetween, readCpu } from "../harness/host.js";
import type { Load } from "../harness/load.js";
import { type Findings, number, percent } from "../harness/report.js";
import type { Server } from "../harness/server.js";
import { withServers } from "../harness/session.js";
import { gateway, SDK } from "../harness/targets.js";
import { sendMessage, startTask, subscribe, taskOf, WIRE_TITLES, type WireName } from "../harness/wires.js";

/** Fewer subscribers get more chunks, so that there is enough to measure. */
const SIZES = [
  { subscribers: 1, chunks: 5000 },
  { subscribers: 10, chunks: 2000 },
  { subscribers: 100, chunks: 500 },
  { subscribers: 1000, chunks: 100 },
];
const ROUNDS = 5;

interface Delivery {
  readonly cpuUs: number;
  readonly elapsedMs: number;
  readonly events: number;
  readonly others: number;
}

/** One task, many subscribers: CPU for each event that reaches one of them. */
export function fanout(): Promise<Findings> {
  const specs = { sqlite: gateway({ name: "SQLite", store: "normal", agent: true }), sdk: SDK };
  return withServers(specs, async (load, { sqlite, sdk }) => {
    const rows: string[][] = [];
    for (const { subscribers, chunks } of SIZES) {
      for (const wire of ["jsonrpc", "grpc"] as const) {
        const best = await least(load, { wire, server: sqlite, subscribers, chunks }, ROUNDS);
        rows.push(rowOf(`SQLite, ${WIRE_TITLES[wire]}`, subscribers, chunks, best));
      }
    }
    const peer = { wire: "jsonrpc" as const, server: sdk, subscribers: 100, chunks: 100 };
    rows.push(rowOf("SDK, JSON-RPC", 100, 100, await least(load, peer, 1)));
    return {
      title: "Fan-out",
      method: "SubscribeToTask on one task, whose agent then puts out its chunks as fast as they are taken.",
      verdicts: [],
      tables: [
        {
          head: [
            "",
            "subscribers",
            "chunks",
            "CPU µs a delivered event",
            "events/s",
            "until the last, ms",
            "others",
          ],
          rows,
        },
      ],
    };
  });
}

interface Scene {
  readonly wire: WireName;
  readonly server: Server;
  readonly subscribers: number;
  readonly chunks: number;
}

async function least(load: Load, scene: Scene, rounds: number): Promise<Delivery> {
  const deliveries: Delivery[] = [];
  for (let round = 0; round < rounds; round += 1) deliveries.push(await deliver(load, scene));
  return deliveries.reduce((best, one) => (one.cpuUs < best.cpuUs ? one : best));
}

async function deliver(load: Load, { wire, server, subscribers, chunks }: Scene): Promise<Delivery> {
  const key = randomUUID();
  const task = await taskOf(load, "jsonrpc", startTask("jsonrpc", server, `gate ${key} ${chunks}`));
  await load.hold(subscribe(wire, server, task), subscribers);
  const before = readCpu(server.pid);
  const { elapsedMs, events, failures } = await load.release(sendMessage("jsonrpc", server, `open ${key}`));
  const use = cpuBetween(before, readCpu(server.pid));
  if (failures > 0) throw new Error(`${server.name}: ${failures} of ${subscribers} streams failed`);
  if (events < subscribers * chunks)
    throw new Error(`${server.name}: ${events} events for ${subscribers} subscribers`);
  return { cpuUs: (use.ownMs * 1000) / events, elapsedMs, events, others: use.others };
}

function rowOf(name: string, subscribers: number, chunks: number, delivery: Delivery): string[] {
  const { cpuUs, events, elapsedMs, others } = delivery;
  return [
    name,
    number(subscribers),
    number(chunks),
    number(cpuUs),
    number((events * 1000) / elapsedMs),
    number(elapsedMs),
    percent(others),
  ];
}
