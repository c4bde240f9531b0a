// The load generator: a program of its own on a core of its own, told what to do by its parent.
import { createGrpcCaller } from "./h2.js";
import { createHttpCaller } from "./http1.js";
import type { Job, Released } from "./job.js";
import { closedLoop, pacedLoop } from "./loops.js";
import type { Caller, Reply, RequestSpec } from "./request.js";

/** gRPC clients share few connections; HTTP/1.1 needs one for each call in flight. */
const GRPC_CONNECTIONS = 4;
const STREAMS_PER_CONNECTION = 100;
/** Streams that are being opened at once. */
const OPENING = 64;

const held: { readonly caller: Caller; readonly ends: Promise<Reply>[] }[] = [];

async function run(job: Job): Promise<unknown> {
  switch (job.kind) {
    case "closed":
      return using(job.request, GRPC_CONNECTIONS, (caller) => closedLoop(caller, job.inFlight, job.ms));
    case "paced":
      return using(job.request, GRPC_CONNECTIONS, (caller) => pacedLoop(caller, job.perSecond, job.ms));
    case "once":
      return using(job.request, 1, (caller) => caller.call({ keep: true }));
    case "hold":
      return hold(job.request, job.streams);
    case "release":
      return release(job.request);
    case "drop":
      return drop();
  }
}

async function using<T>(
  request: RequestSpec,
  connections: number,
  use: (caller: Caller) => Promise<T>,
): Promise<T> {
  const caller = open(request, connections);
  try {
    return await use(caller);
  } finally {
    caller.close();
  }
}

function open(request: RequestSpec, connections: number): Caller {
  return request.kind === "http" ? createHttpCaller(request) : createGrpcCaller(request, connections);
}

async function hold(request: RequestSpec, streams: number): Promise<void> {
  const caller = open(request, Math.ceil(streams / STREAMS_PER_CONNECTION));
  const ends: Promise<Reply>[] = [];
  held.push({ caller, ends });
  const openNext = async () => {
    while (ends.length < streams) await opened(caller, ends);
  };
  await Promise.all(Array.from({ length: Math.min(OPENING, streams) }, openNext));
}

/** Resolves at the first event; rejects when the stream ends before. */
function opened(caller: Caller, ends: Promise<Reply>[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = caller.call({ onEvents: () => resolve() });
    ends.push(end);
    end.then(() => reject(new Error("a stream ended before its first event")), reject);
  });
}

async function release(request: RequestSpec): Promise<Released> {
  const start = performance.now();
  const [replies] = await Promise.all([
    Promise.all(held.flatMap(({ ends }) => ends)),
    using(request, 1, (caller) => caller.call()),
  ]);
  const elapsedMs = performance.now() - start;
  drop();
  return {
    elapsedMs,
    events: sum(replies, ({ events }) => events),
    bytes: sum(replies, ({ bytes }) => bytes),
    failures: replies.filter(({ failure }) => failure !== undefined).length,
  };
}

function drop(): void {
  for (const { caller } of held.splice(0)) caller.close();
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}

process.on("message", (job: Job) => {
  const before = process.cpuUsage();
  run(job).then(
    (result) => {
      const { user, system } = process.cpuUsage(before);
      process.send?.({ result, ownMs: (user + system) / 1000 });
    },
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.once("disconnect", () => process.exit());
