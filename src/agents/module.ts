import { stat } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Agent } from "./agent.js";
import { isRecord } from "./content.js";
import { type AgentDefinition, defineAgent } from "./define.js";
import { provideOwnPackage } from "./own-package.js";

/** An agent that was loaded from a file, or one line that says why it was not. */
export type LoadedModule =
  | { readonly kind: "loaded"; readonly agent: Agent }
  | { readonly kind: "failed"; readonly problem: string };

/** Loads agents from files. */
export interface ModuleLoader {
  /**
   * Evaluates a file and takes its default export. A file that has not changed since its last load gives the
   * same agent again. What the file imports from its own folder is evaluated anew only for TypeScript files.
   */
  load(file: string): Promise<LoadedModule>;
}

/** How modules are loaded. */
export interface ModuleLoaderOptions {
  /** Time that a file may take to be evaluated. Default 30 000. */
  readonly timeoutMs?: number;
}

/** Endings that need the TypeScript compiler, which is loaded when the first such file is. */
const TYPESCRIPT = new Set([".ts", ".mts", ".cts", ".tsx"]);
const JAVASCRIPT = new Set([".js", ".mjs", ".cjs"]);
const NO_MODULE = "an agent is a .ts, .mts, .js or .mjs file.";

/** A loader that remembers what it loaded. */
export function createModuleLoader(options: ModuleLoaderOptions = {}): ModuleLoader {
  const { timeoutMs = 30_000 } = options;
  const known = new Map<string, { readonly stamp: string; readonly agent: Agent }>();

  async function load(file: string): Promise<Agent | string> {
    const stamp = await stampOf(file);
    if (stamp === undefined) return "there is no such file.";
    const before = known.get(file);
    if (before?.stamp === stamp) return before.agent;
    if (!TYPESCRIPT.has(extname(file)) && !JAVASCRIPT.has(extname(file))) return NO_MODULE;
    const loaded = await within(evaluate(file, before && stamp), timeoutMs);
    if (loaded === undefined) return `it was not loaded within ${timeoutMs} ms.`;
    const agent = agentOf(loaded);
    if (typeof agent !== "string") known.set(file, { stamp, agent });
    return agent;
  }

  return {
    async load(file) {
      const result = await load(file).catch(describeThrown);
      if (typeof result !== "string") return { kind: "loaded", agent: result };
      return { kind: "failed", problem: `${file}: ${result}` };
    },
  };
}

async function stampOf(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? `${found.mtimeMs}-${found.size}` : undefined;
}

/** A file that was loaded before is evaluated again under another URL, since modules are kept for ever under theirs. */
async function evaluate(file: string, version: string | undefined): Promise<unknown> {
  const { href } = pathToFileURL(file);
  provideOwnPackage();
  if (TYPESCRIPT.has(extname(file))) {
    const { tsImport } = await import("tsx/esm/api");
    // Compiled code is one line long: without this, every error of an agent would be in line 1.
    process.setSourceMapsEnabled(true);
    return await tsImport(href, import.meta.url);
  }
  return await import(version === undefined ? href : `${href}?version=${version}`);
}

/** The result, or undefined when it takes too long. */
async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const settled = new AbortController();
  const limit = delay(timeoutMs, undefined, { signal: settled.signal }).catch(() => undefined);
  try {
    return await Promise.race([work, limit]);
  } finally {
    settled.abort();
  }
}

/** The default export, or what is wrong with it. Where a file is loaded as CommonJS, its ES default export is one level deeper. */
function agentOf(loaded: unknown): Agent | string {
  let value = loaded;
  for (let depth = 0; depth < 2 && isRecord(value) && "default" in value; depth += 1) value = value.default;
  if (value === loaded) return "it has no default export; export what defineAgent({ … }) returns.";
  if (!isRecord(value) || !isRecord(value.card) || typeof value.answer !== "function") {
    return "its default export is no agent; export what defineAgent({ … }) returns.";
  }
  // Who left out defineAgent meant it; what it returned goes through it unchanged.
  return defineAgent(value as unknown as AgentDefinition);
}

/** A place in a file as stacks and the module loader's errors write it. */
const PLACE = /(?:file:\/\/)?(\/[^\s?():]+)(?:\?[^\s():]*)?:(\d+)/;

/** What a file threw while it was evaluated, with the place of its own code, as one line. */
function describeThrown(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}.`;
  const missing = describeMissing(error);
  if (missing !== undefined) return missing;
  const message = error.message.trim().replaceAll(/\s*\n\s*/g, " ");
  const line = error.stack?.split("\n").find((each) => PLACE.test(each) && !IGNORED.test(each)) ?? "";
  const [, path, number] = PLACE.exec(line) ?? [];
  return path === undefined || message.includes(path) ? message : `${message} (${path}:${number})`;
}

/** Lines of a stack that say nothing about the author's code. */
const IGNORED = /\bnode:|\/node_modules\//;

/** How Node says that it does not find what a file imports, with `import` and with `require`. */
const MISSING = /^Cannot find (?:module|package) '([^']+)'(?: imported from (\S+))?/;

/** An import that leads nowhere, and for a package what to do about it; undefined for any other error. */
function describeMissing({ message, ...error }: Error & { requireStack?: unknown }): string | undefined {
  const [found, specifier = "", importer] = MISSING.exec(message) ?? [];
  if (found === undefined) return undefined;
  const stack: readonly unknown[] = Array.isArray(error.requireStack) ? error.requireStack : [];
  const from = bare(importer ?? String(stack[0] ?? ""));
  const text = `Cannot find '${bare(specifier)}'${from && ` imported from ${from}`}`;
  const name = /^(?:@[^/]+\/)?[^./@:][^/:]*/.exec(specifier)?.[0];
  return name === undefined || from === ""
    ? `${text}.`
    : `${text}; add it: cd ${dirname(from)} && npm install ${name}`;
}

/** A path without the loader's marks. */
function bare(path: string): string {
  return path.replace(/\?.*$/, "");
}
