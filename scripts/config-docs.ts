// Writes what is derived from the configuration's schema: docs/configuration.md and docs/switchyard.schema.json.
// With --check it changes nothing and fails when one of them is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { editorSchema } from "../src/config/editor-schema.js";
import { type JsonSchema, SETTINGS, schemaAt } from "../src/config/settings.js";

const INTRODUCTION = `# Configuration

<!-- Generated from src/config by \`make generate\`; do not edit. -->

Switchyard runs without any configuration: it then serves the built-in echo agent. What you set comes from four
places; the first that has a value wins:

1. flags of the command line (\`switchyard serve --help\`); \`--set limits.depth=50\` reaches every setting,
2. the environment: each setting outside of \`agents\` has a variable, lists are separated by commas, and
   \`SWITCHYARD_AGENT\` names the file of a single agent,
3. a file in YAML or JSON: \`--config FILE\`, else \`SWITCHYARD_CONFIG\`, else \`switchyard.yaml\` in the working directory,
4. the defaults below.

\`switchyard check\` prints the effective configuration with the source of each value and what is wrong with it, one
problem a line; it ends with 1 when there is one. What does not fit together is looked for when each setting is right by
itself, and agents are loaded after that. \`serve\` refuses to start for the same problems.

\`\`\`yaml
# yaml-language-server: $schema=./node_modules/switchyard/docs/switchyard.schema.json
http: 0.0.0.0:8080
grpc: 0.0.0.0:50051
publicUrl: https://agents.example.com
store: /var/lib/switchyard/switchyard.db
agents:
  - file: ./assistant.ts
  - tenant: weather
    file: ./weather.ts
    busy: queue
    card: ./weather-card.yaml
\`\`\`

In the file,

- \`\${NAME}\` in a value is replaced from the environment, \`\${NAME:-otherwise}\` has a value for when it is not set
  there, and \`$\${NAME}\` stands for itself;
- paths begin at the folder of the file; those of flags and variables at the working directory;
- a setting that may be a secret can be read from a file: \`keyFile: key.pem\` instead of \`key\`;
- times are milliseconds or texts such as \`15 s\`, \`10 m\`, \`7 d\`; sizes are bytes or texts such as \`64 KiB\`, \`10 MiB\`.

A running gateway reads its file again when it changes, and on SIGHUP. It checks the new configuration first and keeps
the old one when there is a problem. Agents are exchanged at once: running tasks keep the agent that they began with.
Everything else takes a restart, and the log says so.

## Old tasks

Tasks are kept for ever unless [\`retention\`](#retention) says otherwise. \`switchyard tasks prune --older-than 7d\` forgets
those that have ended and whose last status is at least that old, once: through the running gateway, or in its file when
none runs. It prints how many there were.

| flag | meaning |
|---|---|
| \`--older-than TIME\` | age of the last status, such as \`12h\` or \`7d\`; \`0\` is any age, and needs \`--yes\` |
| \`--state STATE\` | only tasks in this state, which may be \`input-required\` or \`auth-required\` as well; may be repeated |
| \`--tenant TENANT\` | only tasks of this tenant |
| \`--config FILE\`, \`--admin-socket PATH\`, \`--store PATH\` | which gateway, or which file |
`;

/** One table row. A cell keeps its line, and a bar in it is no border. */
function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function formatDefault(schema: JsonSchema): string {
  const value = schema.default;
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) return "";
  if (Array.isArray(value))
    return value.map((each) => code(typeof each === "string" ? each : JSON.stringify(each))).join(", ");
  return code(String(value));
}

/** The words that a setting is restricted to, where the description names none. */
function formatWords({ enum: words, description = "" }: JsonSchema): string {
  const named = words?.filter((word) => typeof word === "string") ?? [];
  if (named.length < 2 || named.includes("on") || named.some((word) => description.includes(code(word))))
    return "";
  return ` One of ${named.map(code).join(", ")}.`;
}

function describe(schema: JsonSchema): string {
  return `${schema.description ?? ""}${formatWords(schema)}`;
}

/** Top-level settings that stand alone, then one section for each group. */
function settingTables(): string {
  const groups = new Map<string, (typeof SETTINGS)[number][]>();
  for (const setting of SETTINGS.filter(({ path }) => path[0] !== "agents")) {
    const group = setting.path.length > 1 ? (setting.path[0] ?? "") : "";
    groups.set(group, [...(groups.get(group) ?? []), setting]);
  }
  return [...groups]
    .map(([group, settings]) => {
      const heading =
        group === "" ? "## Settings" : `## ${code(group)}\n\n${schemaAt([group])?.description ?? ""}`;
      const rows = settings.map(({ path, schema, environment }) =>
        row(code(path.slice(-1).join()), formatDefault(schema), describe(schema), code(environment ?? "")),
      );
      return [
        heading,
        "",
        row("setting", "default", "meaning", "variable"),
        "|---|---|---|---|",
        ...rows,
      ].join("\n");
    })
    .join("\n\n");
}

function agentTables(): string {
  const tables = [
    { heading: "## `agents`", path: ["agents", 0], lead: "A list; each entry has" },
    { heading: "### `extendedCard`", path: ["agents", 0, "extendedCard"], lead: "" },
    { heading: "### `extensions`", path: ["agents", 0, "extensions", 0], lead: "A list; each entry has" },
  ];
  return tables
    .map(({ heading, path, lead }) => {
      const rows = Object.entries(schemaAt(path)?.properties ?? {}).map(([key, schema]) =>
        row(code(key), formatDefault(schema), describe(schema)),
      );
      const introduction = lead === "" ? [] : [lead, ""];
      return [
        heading,
        "",
        ...introduction,
        row("setting", "default", "meaning"),
        "|---|---|---|",
        ...rows,
      ].join("\n");
    })
    .join("\n\n");
}

/** Lists of plain values go on one line where they fit, as the formatter has them. */
function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(
    /^(.*)\[\n([^[\]{}]*)\n\s*\](,?)$/gm,
    (whole, before, items, comma) => {
      const line = `${before}[${String(items)
        .trim()
        .replaceAll(/\s*\n\s*/g, " ")}]${comma}`;
      return line.length <= 110 ? line : whole;
    },
  );
}

/** The generated documents, by path. */
export const CONFIG_DOCS: ReadonlyMap<string, string> = new Map([
  ["docs/configuration.md", `${INTRODUCTION}\n${settingTables()}\n\n${agentTables()}\n`],
  ["docs/switchyard.schema.json", `${formatJson(editorSchema())}\n`],
]);

/** Where a document belongs. */
export function fileOf(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  for (const [path, content] of CONFIG_DOCS) {
    if (!process.argv.includes("--check")) writeFileSync(fileOf(path), content);
    else if (readFileSync(fileOf(path), "utf8") !== content) {
      console.error(`${path} is stale; run \`make generate\`.`);
      process.exitCode = 1;
    }
  }
}
