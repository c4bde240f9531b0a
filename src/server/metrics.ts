import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Wire } from "../core/context.js";
import type { CallObserver } from "../core/telemetry.js";
import { TaskState } from "../protocol/schema.js";
import type { TaskStore } from "../stores/task-store.js";

/** What a scrape asks the gateway for. */
export interface MetricsSources {
  /** The state of the task of each run. */
  runStates(): Iterable<TaskState>;
  readerCount(): number;
  countByState(): Promise<ReadonlyMap<TaskState, number>>;
}

export interface Metrics {
  readonly observer: CallObserver;
  /** Adds what is asked for at each scrape. Call once. */
  watch(sources: MetricsSources): void;
  /** The same store, its commits timed. */
  timed<Store extends TaskStore>(store: Store): Store;
  /** Content type of `render`. */
  readonly contentType: string;
  /** The metrics in Prometheus' text format. */
  render(): Promise<string>;
}

const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const COMMIT_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

/** Label values come from our own tables and the configured tenants only, so their number is bounded. */
const CALL_LABELS = ["wire", "method", "tenant", "code"] as const;

let processRegistry: Registry | undefined;

/** Memory, CPU and event-loop delay of the process, once for all its gateways: nothing ends their collection. */
function processMetrics(prom: typeof import("prom-client")): Registry {
  if (processRegistry === undefined) {
    processRegistry = new prom.Registry();
    prom.collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}

/** Metrics of one gateway, in a registry of their own, and of its process. Loads prom-client when called. */
export async function createMetrics(): Promise<Metrics> {
  const prom = await import("prom-client");
  const registry = new prom.Registry();
  const registers = [registry];

  const calls = new prom.Counter({
    name: "switchyard_calls_total",
    help: "Calls that have ended.",
    labelNames: CALL_LABELS,
    registers,
  });
  const durations = new prom.Histogram({
    name: "switchyard_call_duration_seconds",
    help: "Time from the decoded request to the end of the answer.",
    labelNames: ["wire", "method"],
    buckets: DURATION_BUCKETS,
    registers,
  });
  /** Events since the last scrape: a counter looks its labels up at every step. */
  const sent = new Map<Wire, number>();
  new prom.Counter({
    name: "switchyard_stream_events_total",
    help: "Events sent on streams.",
    labelNames: ["wire"],
    registers,
    collect() {
      for (const [wire, count] of sent) this.inc({ wire }, count);
      sent.clear();
    },
  });
  const streams = new prom.Gauge({
    name: "switchyard_open_streams",
    help: "Streams that are open now.",
    labelNames: ["wire"],
    registers,
  });
  const commits = new prom.Histogram({
    name: "switchyard_commit_duration_seconds",
    help: "Time from handing a write to the store until it is durable.",
    buckets: COMMIT_BUCKETS,
    registers,
  });
  return {
    observer: observer({ calls, durations, sent, streams }),
    watch: (sources) => gauges(prom, registry, sources),
    timed: (store) => withCommit(store, timedCommit(store, commits)),
    contentType: registry.contentType,
    render: async () => `${await registry.metrics()}${await processMetrics(prom).metrics()}`,
  };
}

interface CallMetrics {
  readonly calls: Counter<(typeof CALL_LABELS)[number]>;
  readonly durations: Histogram<"wire" | "method">;
  readonly sent: Map<Wire, number>;
  readonly streams: Gauge<"wire">;
}

function observer({ calls, durations, sent, streams }: CallMetrics): CallObserver {
  return {
    streamOpened: (wire) => streams.inc({ wire }),
    eventSent: (wire) => sent.set(wire, (sent.get(wire) ?? 0) + 1),
    callEnded({ wire, method, tenant, code, durationMs, stream }) {
      calls.inc({ wire, method, tenant, code });
      durations.observe({ wire, method }, durationMs / 1000);
      if (stream) streams.dec({ wire });
    },
  };
}

function gauges(prom: typeof import("prom-client"), registry: Registry, sources: MetricsSources): void {
  const registers = [registry];
  new prom.Gauge({
    name: "switchyard_runs",
    help: "Turns that agents are working on now, by the state of the task.",
    labelNames: ["state"],
    registers,
    collect() {
      setByState(this, countsOf(sources.runStates()), RUNNING);
    },
  });
  new prom.Gauge({
    name: "switchyard_log_readers",
    help: "Readers of task logs that are open now.",
    registers,
    collect() {
      this.set(sources.readerCount());
    },
  });
  new prom.Gauge({
    name: "switchyard_tasks",
    help: "Stored tasks by state.",
    labelNames: ["state"],
    registers,
    async collect() {
      setByState(this, await sources.countByState(), STATES);
    },
  });
}

/** States that a task can be in while an agent works on it. */
const RUNNING = [TaskState.SUBMITTED, TaskState.WORKING, TaskState.AUTH_REQUIRED];
/** States that a stored task can be in. */
const STATES = [
  ...RUNNING,
  TaskState.INPUT_REQUIRED,
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
];

/** States without a task are 0 rather than absent, so that sums and alerts work from the start. */
function setByState(
  gauge: Gauge<"state">,
  counts: ReadonlyMap<TaskState, number>,
  states: readonly TaskState[],
): void {
  for (const state of states) gauge.set({ state: TaskState[state] }, counts.get(state) ?? 0);
}

function countsOf(states: Iterable<TaskState>): ReadonlyMap<TaskState, number> {
  const counts = new Map<TaskState, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

/** The same store with another `commit`, whether it is a plain object or of a class with private fields. */
function withCommit<Store extends TaskStore>(store: Store, commit: TaskStore["commit"]): Store {
  const methods = new Map<string | symbol, unknown>([["commit", commit]]);
  return new Proxy(store, {
    get(target, key) {
      const known = methods.get(key);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      const bound: unknown = value.bind(target);
      methods.set(key, bound);
      return bound;
    },
  });
}

function timedCommit(store: TaskStore, histogram: Histogram): TaskStore["commit"] {
  return async (scope, taskId, write) => {
    const startedMs = performance.now();
    try {
      return await store.commit(scope, taskId, write);
    } finally {
      histogram.observe((performance.now() - startedMs) / 1000);
    }
  };
}
