import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type ListTasksRequestSchema, TaskState } from "../../../src/protocol/schema.js";
import type { Load } from "../harness/load.js";
import { type Findings, number, percent, type Table, type Verdict } from "../harness/report.js";
import { type Candidate, type Figure, measure } from "../harness/rounds.js";
import { COMPILED, type Server, WORK } from "../harness/server.js";
import { withServers } from "../harness/session.js";
import { gateway, SDK } from "../harness/targets.js";
import { listTasks, pageOf, sendMessage } from "../harness/wires.js";
import { CONTEXT_TASKS, FIRST_MS } from "../servers/fill-plan.js";

type Query = MessageInitShape<typeof ListTasksRequestSchema>;

const SIZES = [1000, 100_000, 1_000_000];
const PAGE = 50;
/** The deep page comes after so many tasks, or after all but the last page. */
const DEPTH = 20_000;
/** Largest page, to get there. */
const STRIDE = 100;
const SDK_TASKS = 10_000;
const ROUND = { inFlight: 8, ms: 600, warmCalls: 300, repeats: 4 };

/** Lists, by how they are filtered, in a store of so many tasks. */
function queries(tasks: number): readonly (readonly [string, Query])[] {
  const contextId = `context-${Math.floor(tasks / CONTEXT_TASKS / 2)}`;
  const statusTimestampAfter = timestampFromMs(FIRST_MS + tasks / 2);
  return [
    ["no filter", {}],
    ["status", { status: TaskState.FAILED }],
    ["contextId", { contextId }],
    ["contextId and status", { contextId, status: TaskState.FAILED }],
    ["statusTimestampAfter", { statusTimestampAfter }],
    ["with artifacts", { includeArtifacts: true }],
  ];
}

interface Row extends Figure {
  readonly tasks: number;
}

/** Pages of ListTasks, as the number of tasks grows. */
export async function list(): Promise<Findings> {
  const rows: Row[] = [];
  for (const tasks of SIZES) rows.push(...(await measureSize(tasks)));
  const sdk = await measureSdk();
  return {
    title: "ListTasks",
    method: `Pages of ${PAGE} over JSON-RPC; all tasks belong to one caller, ${CONTEXT_TASKS} to a context, a quarter to each of four states. Deep: ${number(DEPTH)} tasks into the list, or its last full page.`,
    verdicts: verdicts(rows),
    tables: [table(rows), sdkTable(sdk)],
  };
}

async function measureSize(tasks: number): Promise<Row[]> {
  const file = join(WORK, `list-${tasks}.db`);
  removeStore(file);
  mkdirSync(WORK, { recursive: true });
  execFileSync(process.execPath, [join(COMPILED, "servers", "fill.js"), file, String(tasks)], {
    stdio: "inherit",
  });
  try {
    return await withServers(
      { server: gateway({ name: "list", store: "normal", file }) },
      async (load, { server }) => {
        const candidates: Candidate[] = [];
        for (const [name, query] of queries(tasks))
          candidates.push(...(await pagesOf(load, server, name, query)));
        return (await measure(load, candidates, ROUND)).map((figure) => ({ ...figure, tasks }));
      },
    );
  } finally {
    removeStore(file);
  }
}

function removeStore(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
}

async function pagesOf(load: Load, server: Server, name: string, query: Query): Promise<Candidate[]> {
  const request = (pageToken: string) =>
    listTasks("jsonrpc", server, { ...query, pageSize: PAGE, pageToken });
  const deep = await deepToken(load, server, query);
  return [
    { name: `${name}, first page`, server, request: request("") },
    ...(deep === "" ? [] : [{ name: `${name}, deep page`, server, request: request(deep) }]),
  ];
}

/** Pages through a list as a client does; empty when it has no second full page. */
async function deepToken(load: Load, server: Server, query: Query): Promise<string> {
  let token = "";
  for (let seen = 0; seen < DEPTH; seen += STRIDE) {
    const request = listTasks("rest", server, { ...query, pageSize: STRIDE, pageToken: token });
    const { nextPageToken, totalSize } = await pageOf(load, "rest", request);
    if (nextPageToken === "" || totalSize - seen - STRIDE < PAGE) return token;
    token = nextPageToken;
  }
  return token;
}

/** A list by time counts what it leaves out, so it may grow. */
const GROWS = "statusTimestampAfter";

function verdicts(rows: readonly Row[]): Verdict[] {
  const names = new Set(rows.map(({ name }) => name).filter((name) => !name.startsWith(GROWS)));
  return [...names].map((name) => {
    const costs = rows.filter((row) => row.name === name).map(({ cpuUs }) => cpuUs);
    const growth = Math.max(...costs) / Math.min(...costs);
    return {
      aim: `${name}: under 1.5 × from 1 000 to 1 000 000 tasks`,
      measured: `${number(growth)} ×`,
      met: growth < 1.5,
    };
  });
}

function table(rows: readonly Row[]): Table {
  const names = [...new Set(rows.map(({ name }) => name))];
  const cell = (name: string, tasks: number, text: (row: Row) => string) => {
    const row = rows.find((other) => other.name === name && other.tasks === tasks);
    return row ? text(row) : "–";
  };
  return {
    head: [
      "CPU µs a page (p50 ms)",
      ...SIZES.map((tasks) => `${number(tasks)} tasks`),
      "spread, at most",
      "bytes",
    ],
    rows: names.map((name) => [
      name,
      ...SIZES.map((tasks) => cell(name, tasks, ({ cpuUs, p50Ms }) => `${number(cpuUs)} (${number(p50Ms)})`)),
      percent(Math.max(...rows.filter((row) => row.name === name).map(({ spread }) => spread))),
      cell(name, SIZES[0] as number, ({ bytes }) => number(bytes)),
    ]),
  };
}

interface SdkRow {
  readonly tasks: number;
  readonly figure: Figure;
}

/** The SDK's store is filled through its own SendMessage. */
function measureSdk(): Promise<SdkRow[]> {
  return withServers({ sdk: SDK }, async (load, { sdk }) => {
    const rows: SdkRow[] = [];
    let tasks = 0;
    for (const goal of [1000, SDK_TASKS]) {
      while (tasks < goal)
        tasks += (await load.closed(sendMessage("jsonrpc", sdk, "Hello, agent."), 32, 200)).calls;
      const candidate = {
        name: "first page",
        server: sdk,
        request: listTasks("jsonrpc", sdk, { pageSize: PAGE }),
      };
      const [figure] = await measure(load, [candidate], { ...ROUND, rounds: 3 });
      rows.push({ tasks, figure: figure as Figure });
    }
    return rows;
  });
}

function sdkTable(rows: readonly SdkRow[]): Table {
  return {
    title: "SDK, first page, no filter",
    head: ["tasks", "CPU µs a page", "p50 ms"],
    rows: rows.map(({ tasks, figure }) => [number(tasks), number(figure.cpuUs), number(figure.p50Ms)]),
  };
}
