import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readProblem, readYaml, settingsOfFile, type YamlFile } from "./file-source.js";
import { nearest } from "./nearest.js";
import type { Problem } from "./problem.js";
import { SHORTHANDS } from "./schema.js";
import { fileTextOf, isPath, SETTINGS, type Setting, schemaAt } from "./settings.js";
import { isTree, mapTexts, mergeTrees, type Path, record, type Tree, treeWith } from "./tree.js";
import { yaml } from "./yaml.js";

/** The settings of one source, paths made absolute and texts from files read in. */
export interface Layer {
  readonly tree: Tree;
  readonly problems: readonly Problem[];
  /** Files that were read for it. */
  readonly files: readonly string[];
  /** How this source names the value at a path. */
  origin(path: Path): string;
}

/** A setting given on the command line. */
export interface FlagValue {
  /** As it was typed: `--http`. */
  readonly flag: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of a configuration file. `shown` is its name in problems, `base` where its relative paths begin. */
export function fileLayer(file: string, shown: string, base: string, environment: Environment): Layer {
  const source: YamlFile = readYaml(file, shown);
  const origin = (path: Path) => (path.length === 0 ? shown : `${shown}:${source.lineOf(path)}`);
  const { tree, problems } = settingsOfFile(source, environment);
  return finish(tree, base, origin, [file], [...source.problems, ...problems]);
}

/** The settings of the environment: `SWITCHYARD_…`. */
export function environmentLayer(environment: Environment, base: string): Layer {
  const given = SETTINGS.flatMap((setting) => {
    const text = setting.environment === undefined ? undefined : environment[setting.environment];
    return text === undefined || text === "" ? [] : [{ setting, text }];
  });
  const tree = given.reduce<Tree>(
    (all, { setting, text }) => mergeTrees(all, variableTree(setting, text)),
    {},
  );
  const agent = environment.SWITCHYARD_AGENT;
  const withAgent = agent ? mergeTrees(tree, treeWith(["agents"], [{ file: agent }])) : tree;
  const origin = (path: Path) =>
    SETTINGS.find((setting) => isPrefix(setting.path, path) && setting.environment)?.environment ??
    (path[0] === "agents" ? "SWITCHYARD_AGENT" : "environment");
  return finish(withAgent, base, origin, [], unknownVariables(environment));
}

function variableTree({ path, schema }: Setting, text: string): Tree {
  const isList = schema.items !== undefined;
  return treeWith(
    path,
    isList
      ? text
          .split(",")
          .map((each) => each.trim())
          .filter((each) => each !== "")
      : text,
  );
}

const OTHER_VARIABLES = ["SWITCHYARD_AGENT", "SWITCHYARD_CONFIG"];
/** Kubernetes sets these in every pod for a service that is called `switchyard`. */
const SERVICE_VARIABLE = /^SWITCHYARD_(SERVICE_|PORT$|PORT_\d)/;

function unknownVariables(environment: Environment): Problem[] {
  const known = [...SETTINGS.flatMap((setting) => setting.environment ?? []), ...OTHER_VARIABLES];
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith("SWITCHYARD_") && !known.includes(name) && !SERVICE_VARIABLE.test(name),
  );
  return unknown.map((name) => {
    const meant = nearest(name, known);
    const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
    return { origin: name, path: [], text: `there is no such setting.${hint}` };
  });
}

/** The settings of the command line; a later flag replaces an earlier one. */
export function flagLayer(flags: readonly FlagValue[], base: string): Layer {
  const tree = flags.reduce<Tree>((all, { path, value }) => mergeTrees(all, treeWith(path, value)), {});
  const origin = (path: Path) =>
    flags.findLast((each) => isPrefix(each.path, path) || isPrefix(path, each.path))?.flag ?? "command line";
  return finish(tree, base, origin, [], []);
}

/** `limits.depth=50` as a flag; the value is read as YAML. Undefined when the text is no assignment. */
export function parseAssignment(text: string): FlagValue | undefined {
  const [, name, value] = /^([A-Za-z][A-Za-z0-9.]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) return undefined;
  return { flag: `--set ${name}`, path: name.split("."), value: parseValue(value) };
}

function parseValue(text: string): unknown {
  try {
    return yaml().parse(text) as unknown;
  } catch {
    return text;
  }
}

function isPrefix(prefix: readonly (string | number)[], path: Path): boolean {
  return prefix.every((segment, index) => path[index] === segment);
}

/** What all sources have in common: shorthands, paths, and texts from files. */
function finish(
  tree: Tree,
  base: string,
  origin: Layer["origin"],
  files: readonly string[],
  problems: readonly Problem[],
): Layer {
  const full = record(Object.entries(tree).map(([key, value]) => [key, writtenOut(key, value)]));
  const absolute = mapTexts(full, (text, path) =>
    isPath(text, schemaAt(path)) ? resolve(base, text) : text,
  );
  const found: { files: string[]; problems: Problem[] } = { files: [...files], problems: [] };
  const finished = withFileTexts(absolute as Tree, [], found) as Tree;
  const located = [...problems, ...found.problems].map((each) => ({ origin: origin(each.path), ...each }));
  return { tree: finished, problems: located, files: found.files, origin };
}

function writtenOut(key: string, value: unknown): unknown {
  const name = SHORTHANDS.get(key);
  return name === undefined || typeof value !== "string" ? value : record([[name, value]]);
}

/** `keyFile: /a` becomes `key: <what /a holds>`; the end of the last line is no part of it. */
function withFileTexts(tree: unknown, path: Path, found: { files: string[]; problems: Problem[] }): unknown {
  if (!isTree(tree)) return tree;
  const entries = Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    const at = [...path, key];
    const name = fileTextOf(schemaAt(path), key);
    if (name === undefined || typeof value !== "string") return [[key, withFileTexts(value, at, found)]];
    if (Object.hasOwn(tree, name)) {
      found.problems.push({ path: at, text: `give either ${name} or ${key}, not both.` });
      return [];
    }
    // Without its text the setting would count as missing, a second problem with the same cause.
    return [[name, readText(value, at, found) ?? value]];
  });
  return record(entries);
}

function readText(
  file: string,
  path: Path,
  found: { files: string[]; problems: Problem[] },
): string | undefined {
  found.files.push(file);
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    found.problems.push({ path, text: `${file}: ${readProblem(error)}` });
    return undefined;
  }
}
