import { setTimeout as sleep } from "node:timers/promises";
import { createGrpcCaller } from "../harness/h2.js";
import { readCpu } from "../harness/host.js";
import { createHttpCaller } from "../harness/http1.js";
import { atMost, type Findings, number } from "../harness/report.js";
import type { RequestSpec } from "../harness/request.js";
import { freePort, launch, type Server, type ServerSpec, stop } from "../harness/server.js";
import { gateway, SDK } from "../harness/targets.js";
import { sendMessage, WIRE_TITLES, type WireName } from "../harness/wires.js";

const ROUNDS = 5;
const PATIENCE_MS = 20_000;

/** From starting the program to its first answer to a SendMessage. */
export async function start(): Promise<Findings> {
  const targets: readonly [string, ServerSpec, WireName][] = [
    ["SQLite", gateway({ name: "SQLite", store: "normal" }), "jsonrpc"],
    ["SQLite", gateway({ name: "SQLite", store: "normal" }), "grpc"],
    ["SQLite, agent of a module", gateway({ name: "SQLite", store: "normal", agent: true }), "jsonrpc"],
    ["memory", gateway({ name: "memory", store: "memory" }), "jsonrpc"],
    ["SDK", SDK, "jsonrpc"],
  ];
  const seen = targets.map((): Start[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, [, spec, wire]] of targets.entries()) {
      seen[index]?.push(await firstAnswer(spec, wire));
    }
  }
  const rows = targets.map(([name, , wire], index) => ({
    name: `${name}, ${WIRE_TITLES[wire]}`,
    starts: (seen[index] as Start[]).sort((one, other) => one.ms - other.ms),
  }));
  return {
    title: "Start",
    method:
      "Wall time from starting the program, on one core and with an empty store, to its first answer to a SendMessage. All programs in turn, round after round.",
    verdicts: rows
      .filter(({ name }) => name.startsWith("SQLite"))
      .map(({ name, starts }) => atMost(`${name}: under 1 s`, starts[0]?.ms ?? Number.NaN, 1000, " ms")),
    tables: [
      {
        head: ["", "least ms", "CPU ms of it", "median ms", "most ms"],
        rows: rows.map(({ name, starts }) => {
          const [least, median, most] = [starts[0], starts[ROUNDS >> 1], starts[ROUNDS - 1]] as [
            Start,
            Start,
            Start,
          ];
          return [name, ...[least.ms, least.cpuMs, median.ms, most.ms].map(number)];
        }),
      },
    ],
  };
}

interface Start {
  readonly ms: number;
  /** Of the server. */
  readonly cpuMs: number;
}

async function firstAnswer(spec: ServerSpec, wire: WireName): Promise<Start> {
  const ports = { http: await freePort(), grpc: await freePort() };
  const { jsonrpcPath = "/", restPrefix = "" } = spec;
  const request = sendMessage(wire, { ...ports, jsonrpcPath, restPrefix } as Server, "Hello, agent.");
  const from = performance.now();
  const child = launch(spec, ports);
  try {
    while (!(await answers(request))) {
      if (performance.now() - from > PATIENCE_MS) throw new Error(`${spec.name} does not answer`);
      await sleep(2);
    }
    return { ms: performance.now() - from, cpuMs: readCpu(child.pid as number).ownMs };
  } finally {
    await stop(child);
  }
}

async function answers(request: RequestSpec): Promise<boolean> {
  const caller = request.kind === "http" ? createHttpCaller(request) : createGrpcCaller(request, 1);
  const { failure } = await caller.call();
  caller.close();
  return failure === undefined;
}
