import { timings } from "../harness/micro.js";
import { type Findings, number, percent } from "../harness/report.js";

/** What a call costs behind its binding. */
export async function engine(): Promise<Findings> {
  const found = timings("engine");
  return {
    title: "Behind the bindings",
    method:
      "The operations called directly in one process, 32 at once, without wire, log or metrics; and the stores alone, with as many commits at once. What a call costs over a wire beyond this is HTTP or gRPC, reading and writing messages, the log and the metrics.",
    verdicts: [],
    tables: [
      {
        head: ["", "CPU µs", "spread"],
        rows: found.map(({ name, ns, spread }) => [name, number(ns / 1000), percent(spread)]),
      },
    ],
  };
}
