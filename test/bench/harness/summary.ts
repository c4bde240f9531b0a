import { type Findings, renderFindings, renderTable, verdictRow } from "./report.js";

/** What a part found, and where and when. */
export interface Result {
  readonly name: string;
  readonly findings: Findings;
  readonly seconds: number;
  /** Day, as in ISO 8601. */
  readonly date: string;
  readonly host: string;
  readonly packages: string;
}

const INTRODUCTION = `# Benchmarks

Written by \`make bench\`; \`make bench BENCH=name\` measures one part again (names are in brackets below).

The gateway runs as it is built (\`dist/main.js\`) and, but for the store, with its default settings, so every call is
logged. Server and load generator have one core each. The first figure is CPU time of the server's process for one
call, as the operating system counts it, threads included: what a call costs, however busy the machine is. Candidates
are measured in turn, five rounds each (unary calls thirty shorter ones), and the least is shown with the spread above
it. *others* is the share of the server's core that other processes took meanwhile; a round with more than 5 % is run
again, within limits, and marked *noisy* when that did not help. The generator speaks HTTP/1.1 and HTTP/2 on bare sockets with pre-encoded requests;
*generator* is the share of its own core that it used.

Floors are programs that do nothing but answer: \`node:http\` with JSON in and out, Express with its JSON reader,
grpc-js, connect-node. *SDK* is \`@a2a-js/sdk\` with the same agent and its memory store. *SQLite* is the gateway with
its durable store, *memory* without one; *full* waits for the disk at each commit. Compare ratios, not times: times
are this machine's.`;

/** The document. */
export function renderReport(results: readonly Result[]): string {
  const aims = results.flatMap(({ findings, name }) =>
    findings.verdicts.map((verdict) => [
      `${findings.title}: ${verdict.aim} (\`${name}\`)`,
      ...verdictRow(verdict).slice(1),
    ]),
  );
  const parts = results.map(({ name, findings, seconds, date, host }) => {
    const [heading, ...rest] = renderFindings(findings).split("\n");
    return [`${heading} (\`${name}\`)`, ...rest, "", `*${date}, ${seconds} s, ${host}*`].join("\n");
  });
  const packages = results.length > 0 ? [`Packages: ${results[0]?.packages}.`] : [];
  const table = renderTable({ head: ["aim", "measured", "met"], rows: aims });
  return `${[INTRODUCTION, ...packages, "## Aims", table, ...parts].join("\n\n")}\n`;
}
