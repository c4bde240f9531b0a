import type { LoadedConfig } from "./load.js";
import { type JsonSchema, SETTINGS, schemaAt } from "./settings.js";
import { formatPath, isTree, type Path, valueAt } from "./tree.js";

/** Every setting with its value and where that comes from, one a line, in columns. */
export function explainConfig(loaded: LoadedConfig): string[] {
  const rows = [
    ...SETTINGS.flatMap(({ path, schema }) => settingRows(loaded, path, schema)),
    ...agentRows(loaded),
  ];
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

type Row = readonly [name: string, value: string, source: string];

function settingRows(loaded: LoadedConfig, path: Path, schema: JsonSchema): Row[] {
  const isFileName = schemaAt(path) === schema && isNameOfFile(path);
  return isFileName || path[0] === "agents" ? [] : [row(loaded, path, schema)];
}

/** What such a name stands for has a row of its own. */
function isNameOfFile(path: Path): boolean {
  const inner = schemaAt(path.slice(0, -1))?.properties ?? {};
  return !Object.hasOwn(inner, String(path.at(-1)));
}

function agentRows(loaded: LoadedConfig): Row[] {
  const given = loaded.tree.agents ?? schemaAt(["agents"])?.default;
  const known = schemaAt(["agents", 0])?.properties ?? {};
  return (Array.isArray(given) ? given : []).flatMap((agent: unknown, index) => {
    const names = Object.keys(known).filter((name) => isTree(agent) && Object.hasOwn(agent, name));
    const shown = names.includes("tenant") ? names : ["tenant", ...names];
    return shown.map((name) => row(loaded, ["agents", index, name], known[name] ?? {}, agent));
  });
}

function row(loaded: LoadedConfig, path: Path, schema: JsonSchema, holder?: unknown): Row {
  const given = holder === undefined ? valueAt(loaded.tree, path) : valueAt(holder, path.slice(-1));
  const value = given === undefined ? schema.default : given;
  const source = loaded.origin(path) ?? (value === undefined ? "" : "default");
  return [formatPath(path), formatValue(value, schema), source];
}

function formatValue(value: unknown, schema: JsonSchema): string {
  if (value === undefined) return "-";
  if (schema.writeOnly === true) return "(secret)";
  if (schema.fromFile === true) return "(text)";
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.join(", ") || "-";
  if (typeof value === "string") return value === "" ? '""' : value;
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
