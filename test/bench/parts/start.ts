import { setTimeout as sleep } from "node:timers/promises";
import { createGrpcCaller } from "../harness/h2.js";
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
  const rows: { readonly name: string; readonly times: readonly number[] }[] = [];
  for (const [name, spec, wire] of targets) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) times.push(await firstAnswer(spec, wire));
    rows.push({ name: `${name}, ${WIRE_TITLES[wire]}`, times: times.sort((one, other) => one - other) });
  }
  return {
    title: "Start",
    method:
      "Wall time from starting the program, on one core and with an empty store, to its first answer to a SendMessage.",
    verdicts: rows
      .filter(({ name }) => name.startsWith("SQLite"))
      .map(({ name, times }) => atMost(`${name}: under 1 s`, times[0] as number, 1000, " ms")),
    tables: [
      {
        head: ["", "least ms", "median ms", "most ms"],
        rows: rows.map(({ name, times }) => [
          name,
          ...[0, ROUNDS >> 1, ROUNDS - 1].map((at) => number(times[at] as number)),
        ]),
      },
    ],
  };
}

async function firstAnswer(spec: ServerSpec, wire: WireName): Promise<number> {
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
    return performance.now() - from;
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
