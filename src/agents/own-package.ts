import Module, { register } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** This program's own modules, by the names under which agents import them. */
const OWN: ReadonlyMap<string, string> = new Map([
  ["switchyard/agent", ownFile("./author")],
  ["switchyard", ownFile("../index")],
]);

/** The URL of a module beside this one, compiled as this one is or not. */
function ownFile(path: string): string {
  return new URL(`${path}${extname(fileURLToPath(import.meta.url))}`, import.meta.url).href;
}

/** Runs in Node's thread for hooks, where nothing of this program is loaded. */
const IMPORT_HOOK = `
let own;
export function initialize(entries) {
  own = new Map(entries);
}
export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    const url = own.get(specifier);
    if (url === undefined) throw error;
    return { url, shortCircuit: true };
  }
}`;

let provided = false;

/**
 * Makes `switchyard` and `switchyard/agent` known to agents in folders where the package is not installed: what
 * Node does not find is this program. Once for the whole process, `import` and `require` alike.
 */
export function provideOwnPackage(): void {
  if (provided) return;
  provided = true;
  register(`data:text/javascript,${encodeURIComponent(IMPORT_HOOK)}`, { data: [...OWN] });
  provideToRequire();
}

type Resolve = (specifier: string, ...rest: readonly unknown[]) => string;

/** Node 20 has no public hook for `require`, which is what a TypeScript agent's imports become outside of a package. */
function provideToRequire(): void {
  const loader = Module as unknown as { _resolveFilename: Resolve };
  const resolve = loader._resolveFilename;
  loader._resolveFilename = function (specifier, ...rest) {
    try {
      return resolve.call(this, specifier, ...rest);
    } catch (error) {
      const url = OWN.get(specifier);
      if (url === undefined) throw error;
      return fileURLToPath(url);
    }
  };
}
