import { readFileSync } from "node:fs";
import type { Node, ParsedNode } from "yaml";
import type { Problem } from "./problem.js";
import { isTree, mapTexts, type Path, type Tree } from "./tree.js";
import { yaml } from "./yaml.js";

/** A YAML or JSON file as it was read. */
export interface YamlFile {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** The line of a value, or of the innermost thing around it that is written; counted from 1. */
  lineOf(path: Path): number;
}

/** Why a file could not be read, in words. */
export function readProblem(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT") return "there is no such file.";
  if (code === "EACCES") return "it may not be read by this user.";
  return code === "EISDIR" ? "it is a folder." : `it could not be read: ${(error as Error).message}`;
}

/** Reads a file of YAML, and so of JSON. `shown` is its name in problems. */
export function readYaml(file: string, shown: string): YamlFile {
  try {
    return parseYaml(readFileSync(file, "utf8"), shown);
  } catch (error) {
    return {
      value: undefined,
      problems: [{ origin: shown, path: [], text: readProblem(error) }],
      lineOf: () => 1,
    };
  }
}

function parseYaml(text: string, shown: string): YamlFile {
  const { isAlias, LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  // What follows the first error is mostly its consequence.
  const problems = [...document.errors, ...document.warnings].slice(0, 1).map((error) => ({
    origin: `${shown}:${lineAt(error.pos[0])}`,
    path: [],
    text: `${error.message}.`.replace(/\.+$/, "."),
  }));
  const value: unknown = problems.length > 0 ? undefined : document.toJS();
  if (containsItself(value)) problems.push({ origin: shown, path: [], text: "an alias contains itself." });
  return {
    value: problems.length > 0 ? undefined : value,
    problems,
    lineOf: (path) =>
      lineAt(offsetOf(document.contents, path, (node) => (isAlias(node) ? node.resolve(document) : node))),
  };
}

/** True for what an alias made endless. */
function containsItself(value: unknown, around: ReadonlySet<unknown> = new Set()): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (around.has(value)) return true;
  const inside = new Set(around).add(value);
  return Object.values(value).some((each) => containsItself(each, inside));
}

type Resolve = (node: unknown) => unknown;

function offsetOf(root: ParsedNode | null, path: Path, resolve: Resolve): number {
  let node: unknown = root;
  let offset = root?.range[0] ?? 0;
  for (const segment of path) {
    const found = step(resolve(node), segment);
    if (found === undefined) return offset;
    offset = found.offset;
    node = found.node;
  }
  return offset;
}

function step(node: unknown, segment: string | number): { node: unknown; offset: number } | undefined {
  const { isMap, isScalar, isSeq } = yaml();
  if (isSeq(node)) {
    const item = node.items[Number(segment)] as Node | undefined;
    return item?.range ? { node: item, offset: item.range[0] } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === segment);
  const start = (pair?.key as Node | undefined)?.range?.[0];
  return pair === undefined || start === undefined ? undefined : { node: pair.value, offset: start };
}

/** The settings of a configuration file, with `${NAME}` replaced; an empty file has none. */
export function settingsOfFile(
  { value }: YamlFile,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly tree: Tree; readonly problems: readonly Problem[] } {
  if (value === undefined || value === null) return { tree: {}, problems: [] };
  if (!isTree(value))
    return { tree: {}, problems: [{ path: [], text: "a configuration is a set of settings." }] };
  const problems: Problem[] = [];
  const tree = mapTexts(value, (text, path) =>
    text.replace(
      PLACEHOLDER,
      (whole, escaped: string | undefined, name: string, fallback: string | undefined) => {
        if (escaped !== undefined) return whole.slice(1);
        const found = environment[name] ?? fallback;
        if (found === undefined) problems.push({ path, text: `the environment has no ${name}.` });
        return found ?? "";
      },
    ),
  );
  return { tree: tree as Tree, problems };
}

/** `${NAME}` and `${NAME:-otherwise}`; `$${` stands for `${`. */
const PLACEHOLDER = /(\$)?\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
