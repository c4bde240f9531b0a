import { existsSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { configProblems } from "./checks.js";
import { environmentLayer, type FlagValue, fileLayer, flagLayer, type Layer } from "./layer.js";
import { formatProblem, type Issue, issueProblems, type Problem } from "./problem.js";
import { type Config, configSchema } from "./schema.js";
import { isPath, schemaAt } from "./settings.js";
import { formatPath, mergeTrees, type Path, type Tree, valueAt } from "./tree.js";

/** What a configuration is read from. */
export interface LoadOptions {
  readonly flags?: readonly FlagValue[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Configuration file; must exist. Unset: `SWITCHYARD_CONFIG`, else `switchyard.yaml` in the working directory if there is one. */
  readonly file?: string;
  /** Where relative paths of flags and the environment begin. Default: the working directory. */
  readonly directory?: string;
}

/** A configuration as it was read, right or wrong. */
export interface LoadedConfig {
  /** Frozen, all its paths absolute; absent when there are problems. */
  readonly config?: Config;
  readonly problems: readonly Problem[];
  /** The configuration file that was read. */
  readonly file?: string;
  /** All files that were read; a change of one may change the configuration. */
  readonly files: readonly string[];
  /** The settings that the sources give, as they were written. */
  readonly tree: Tree;
  /** Where the value at a path comes from; undefined for a default. */
  origin(path: Path): string | undefined;
}

/** Reads the configuration: flags before environment before file before defaults. What does not fit together is looked for when each setting is right by itself. */
export function loadConfig(options: LoadOptions = {}): LoadedConfig {
  const { environment = {}, flags = [], directory = process.cwd() } = options;
  const file = configFile(options, directory);
  const layers = [
    ...(file === undefined ? [] : [fileLayer(file, shownFile(file, directory), dirname(file), environment)]),
    environmentLayer(environment, directory),
    flagLayer(flags, directory),
  ];
  const origin = (path: Path) => originOf(layers, path);
  const tree = layers.reduce<Tree>((under, layer) => mergeTrees(under, layer.tree), {});
  const sourceProblems = layers.flatMap((layer) => layer.problems);
  const read = interpret(tree, directory);
  const unfit = read.config && sourceProblems.length === 0 ? configProblems(read.config) : [];
  // A value that could not be read is no second problem.
  const broken = new Set(sourceProblems.map(({ path }) => formatPath(path)));
  const wrong = read.problems.filter(({ path }) => !broken.has(formatPath(path)));
  const problems = [...sourceProblems, ...wrong, ...unfit];
  return {
    ...(problems.length === 0 && read.config !== undefined && { config: read.config }),
    problems: problems.map((problem) => located(problem, origin)),
    ...(file !== undefined && { file }),
    files: layers.flatMap((layer) => layer.files),
    tree,
    origin,
  };
}

function interpret(tree: Tree, directory: string): { config?: Config; problems: Problem[] } {
  const parsed = configSchema.safeParse(tree);
  if (!parsed.success) {
    return { problems: parsed.error.issues.flatMap((issue) => issueProblems(issue as Issue, tree)) };
  }
  return { config: freeze(absolute(parsed.data, directory)), problems: [] };
}

/** The paths of sources are absolute already; what is left are the defaults. */
function absolute(config: Config, directory: string): Config {
  const full = (text: string, path: Path) => (isPath(text, schemaAt(path)) ? resolve(directory, text) : text);
  return {
    ...config,
    store: { ...config.store, path: full(config.store.path, ["store", "path"]) },
    adminSocket: full(config.adminSocket, ["adminSocket"]),
    agents: config.agents.map((agent) => ({
      ...agent,
      kind: agent.kind ?? (agent.file === undefined ? "echo" : "module"),
    })),
  };
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
}

function configFile({ file, environment = {} }: LoadOptions, directory: string): string | undefined {
  const named = file ?? environment.SWITCHYARD_CONFIG;
  if (named) return resolve(directory, named);
  const usual = resolve(directory, "switchyard.yaml");
  return existsSync(usual) ? usual : undefined;
}

function shownFile(file: string, directory: string): string {
  const path = relative(directory, file);
  return path.startsWith("..") || isAbsolute(path) ? file : path;
}

/** The last source that holds the value; for one that nothing holds, the last that holds what is around it. */
function originOf(layers: readonly Layer[], path: Path): string | undefined {
  return layers.findLast(({ tree }) => valueAt(tree, path) !== undefined)?.origin(path);
}

function located(problem: Problem, origin: LoadedConfig["origin"]): Problem {
  if (problem.origin !== undefined) return problem;
  for (let length = problem.path.length; length > 0; length -= 1) {
    const found = origin(problem.path.slice(0, length));
    if (found !== undefined) return { ...problem, origin: found };
  }
  return problem;
}

/** All problems, one a line, in the order of the settings' names. */
export function formatProblems(problems: readonly Problem[]): string[] {
  const sorted = [...problems].sort((a, b) => formatPath(a.path).localeCompare(formatPath(b.path), "en"));
  return [...new Set(sorted.map(formatProblem))];
}
