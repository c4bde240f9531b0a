import { z } from "zod";

/** What a client program prints for each operation. */
export const resultSchema = z.object({
  transport: z.string(),
  operation: z.string(),
  outcome: z.enum(["ok", "failed"]),
  detail: z.string(),
});

/** One operation, tried with one client over one transport. */
export interface Result extends z.infer<typeof resultSchema> {
  readonly client: string;
}

/** A result that is known to fail because of the client, with the reason; see docs/interop.md. */
export const knownSchema = z.array(
  z.strictObject({
    client: z.string(),
    transports: z.array(z.string()),
    operations: z.array(z.string()),
    reason: z.string(),
  }),
);

type Known = z.infer<typeof knownSchema>;

/** `ok`, `FAILED`, `known` for a failure that is listed, `FIXED` for a listed one that did not fail. */
export type Verdict = "ok" | "FAILED" | "known" | "FIXED";

/** True for a client of this name, whatever its version. */
export function isNamed({ client }: { readonly client: string }, name: string): boolean {
  return client.split(" ", 1)[0] === name;
}

/** Compares a result with what is listed. FAILED and FIXED fail the run. */
export function judge(result: Result, known: Known): Verdict {
  const listed = known.some(
    ({ client, transports, operations }) =>
      isNamed(result, client) &&
      transports.includes(result.transport) &&
      operations.includes(result.operation),
  );
  if (result.outcome === "ok") return listed ? "FIXED" : "ok";
  return listed ? "known" : "FAILED";
}

/** Rows are client and transport, columns operations in the order in which they were first tried. */
export function formatTable(results: readonly Result[], verdictOf: (result: Result) => Verdict): string {
  const operations = [...new Set(results.map(({ operation }) => operation))];
  const rowOf = ({ client, transport }: Result) => `${client} ${transport}`;
  const rows = [...new Set(results.map(rowOf))];
  const width = Math.max(...rows.map((row) => row.length));
  const legend = operations.map((operation, index) => `${String(index + 1).padStart(2)} ${operation}`);
  const lines = rows.map((row) => {
    const cells = operations.map((operation) => {
      const result = results.find((one) => rowOf(one) === row && one.operation === operation);
      return (result === undefined ? "-" : verdictOf(result)).padEnd(6);
    });
    return `${row.padEnd(width)}  ${cells.join(" ")}`.trimEnd();
  });
  const head = `${" ".repeat(width)}  ${operations.map((_, index) => String(index + 1).padEnd(6)).join(" ")}`;
  return [...legend, "", head.trimEnd(), ...lines].join("\n");
}
