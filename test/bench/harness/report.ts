import type { Figure } from "./rounds.js";
import { NOISE } from "./rounds.js";

/** A table with a head; the first column is text, the others are numbers. */
export interface Table {
  readonly title?: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** One aim, and what came of it. */
export interface Verdict {
  readonly aim: string;
  readonly measured: string;
  /** Undefined: nothing to compare with in this run. */
  readonly met: boolean | undefined;
}

/** What a part found. */
export interface Findings {
  readonly title: string;
  /** How it was measured, beyond what holds for all parts. */
  readonly method: string;
  readonly verdicts: readonly Verdict[];
  readonly tables: readonly Table[];
}

/** A measured ratio against its aim: met when it is at most `most`. */
export function atMost(aim: string, value: number, most: number, unit = ""): Verdict {
  return {
    aim,
    measured: `${number(value)}${unit}`,
    met: Number.isFinite(value) ? value <= most : undefined,
  };
}

/** Three significant digits, thousands apart by a thin space's plain sister. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US").replaceAll(",", " ");
  return String(Number(value.toPrecision(3)));
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** The usual columns of figures, with each one's ratio to some of them. */
export function figureTable(
  title: string,
  figures: readonly Figure[],
  references: readonly (Figure | undefined)[],
): Table {
  const named = references.filter((reference) => reference !== undefined);
  return {
    title,
    head: [
      "",
      "CPU µs a call",
      ...named.map(({ name }) => `÷ ${name}`),
      "spread",
      "calls/s",
      "p50 ms",
      "p99 ms",
      "bytes",
      "others",
      "generator",
    ],
    rows: figures.map((figure) => [
      figure.name,
      number(figure.cpuUs),
      ...named.map(({ cpuUs }) => number(figure.cpuUs / cpuUs)),
      percent(figure.spread),
      number(figure.callsPerSecond),
      number(figure.p50Ms),
      number(figure.p99Ms),
      number(figure.bytes),
      `${percent(figure.others)}${figure.others > NOISE ? " (noisy)" : ""}`,
      percent(figure.generator),
    ]),
  };
}

/** A part as markdown. */
export function renderFindings({ title, method, verdicts, tables }: Findings): string {
  const aims: Table = { head: ["aim", "measured", "met"], rows: verdicts.map(verdictRow) };
  return [
    `## ${title}`,
    method,
    ...(verdicts.length > 0 ? [renderTable(aims)] : []),
    ...tables.map(renderTable),
  ].join("\n\n");
}

/** A verdict as cells. */
export function verdictRow({ aim, measured, met }: Verdict): string[] {
  return [aim, measured, met === undefined ? "not measured" : met ? "yes" : "**no**"];
}

/** A table as markdown. */
export function renderTable({ title, head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = line(head.map((_, index) => (index === 0 ? "---" : "---:")));
  return [...(title ? [`**${title}**`, ""] : []), line(head), rule, ...rows.map(line)].join("\n");
}
