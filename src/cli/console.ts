/** How commands speak to people. What a command was asked for goes to standard output, all else to standard error. */

/** Writes lines to standard output. */
export function say(...lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** Writes lines to standard error, each with the program's name. */
export function complain(...lines: readonly string[]): void {
  process.stderr.write(lines.map((line) => `switchyard: ${line}\n`).join(""));
}

/** Rows as columns, two spaces apart. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, i) => Math.max(cell.length, all[i] ?? 0)),
    [],
  );
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Anything thrown as one line. */
export function lineOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().replaceAll(/\s*\n\s*/g, " ");
}
