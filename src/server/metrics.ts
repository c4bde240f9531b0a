import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { CallObserver } from "../core/telemetry.js";
import { TaskState } from "../protocol/schema.js";
import type { TaskStore } from "../stores/task-store.js";

/** What a scrape asks the gateway for. */
export interface MetricsSources {
  runCount(): number;
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

/** Metrics of one gateway, in a registry of their own. Loads prom-client when called. */
export async function createMetrics(): Promise<Metrics> {
  const prom = await import("prom-client");
  const registry = new prom.Registry();
  prom.collectDefaultMetrics({ register: registry });
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
  const events = new prom.Counter({
    name: "switchyard_stream_events_total",
    help: "Events sent on streams.",
    labelNames: ["wire"],
    registers,
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
    observer: observer({ calls, durations, events, streams }),
    watch: (sources) => gauges(prom, registry, sources),
    timed: (store) => ({ ...store, commit: timedCommit(store, commits) }),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}

interface CallMetrics {
  readonly calls: Counter<(typeof CALL_LABELS)[number]>;
  readonly durations: Histogram<"wire" | "method">;
  readonly events: Counter<"wire">;
  readonly streams: Gauge<"wire">;
}

function observer({ calls, durations, events, streams }: CallMetrics): CallObserver {
  return {
    streamOpened: (wire) => streams.inc({ wire }),
    callEnded({ wire, method, tenant, code, durationMs, stream, events: count }) {
      calls.inc({ wire, method, tenant, code });
      durations.observe({ wire, method }, durationMs / 1000);
      if (!stream) return;
      streams.dec({ wire });
      events.inc({ wire }, count);
    },
  };
}

function gauges(prom: typeof import("prom-client"), registry: Registry, sources: MetricsSources): void {
  const registers = [registry];
  new prom.Gauge({
    name: "switchyard_runs",
    help: "Turns that agents are working on now.",
    registers,
    collect() {
      this.set(sources.runCount());
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
      this.reset();
      for (const [state, count] of await sources.countByState())
        this.set({ state: TaskState[state] ?? "" }, count);
    },
  });
}

function timedCommit(store: TaskStore, histogram: Histogram): TaskStore["commit"] {
  return async (scope, taskId, write) => {
    const stop = histogram.startTimer();
    try {
      return await store.commit(scope, taskId, write);
    } finally {
      stop();
    }
  };
}
