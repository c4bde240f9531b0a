import { timings } from "../harness/micro.js";
import { atMost, type Findings, number, percent } from "../harness/report.js";

/** Finding the RPC of a REST request. */
export async function transcoder(): Promise<Findings> {
  const found = timings("transcoder");
  const ns = (name: string) => found.find((timing) => timing.name === name)?.ns ?? Number.NaN;
  return {
    title: "Transcoder",
    method: "A request line matched and its path and query read; without the body.",
    verdicts: [
      atMost(
        "the last of 10 000 routes at most 1.5 × the last of 10",
        ns("10 000 routes: last") / ns("10 routes: last"),
        1.5,
        " ×",
      ),
    ],
    tables: [
      {
        head: ["", "ns a match", "spread"],
        rows: found.map(({ name, ns, spread }) => [name, number(ns), percent(spread)]),
      },
    ],
  };
}
