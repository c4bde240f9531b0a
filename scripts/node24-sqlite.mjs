// Loaded into every process of a run on Node 24: the better-sqlite3 in node_modules is compiled for another version.
import { registerHooks } from "node:module";

const own = new URL("../.tmp/node24/node_modules/better-sqlite3/", import.meta.url).href;
const project = new URL("../node_modules/better-sqlite3/", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url.startsWith(project) ? { ...found, url: own + found.url.slice(project.length) } : found;
  },
});
