import { artifact, complete, data, defineAgent, file, reject, textOf } from "switchyard/agent";

interface Table {
  readonly rows: readonly (readonly string[])[];
  readonly columns: number;
}

function parseTable(text: string): Table {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const rows = lines.map((line) => line.split(",").map((cell) => cell.trim()));
  return { rows, columns: Math.max(0, ...rows.map((row) => row.length)) };
}

function quote(cell: string): string {
  return /[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

export default defineAgent({
  card: {
    name: "File maker",
    description: "Makes a CSV file from lines of text.",
    version: "1.0.0",
    defaultOutputModes: ["text/csv", "application/json"],
    skills: [
      {
        id: "csv",
        name: "Make a CSV file",
        description: "Takes lines with commas and returns a file, and how large its table is.",
        tags: ["files"],
        examples: ["name, age\nAda, 36"],
      },
    ],
  },
  async *answer({ message }) {
    const { rows, columns } = parseTable(textOf(message));
    if (rows.length === 0) return reject("Send at least one line.");
    const bytes = rows.map((row) => `${row.map(quote).join(",")}\r\n`).join("");
    yield artifact(
      [file({ bytes, name: "table.csv", mediaType: "text/csv" }), data({ rows: rows.length, columns })],
      {
        id: "table",
        name: "table.csv",
      },
    );
    return complete(`The table has ${rows.length} rows.`);
  },
});
