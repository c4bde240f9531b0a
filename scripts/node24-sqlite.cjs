// Loaded into every process and thread of a run on Node 24: the better-sqlite3 in node_modules is compiled for another
// version. CommonJS, since threads load what `--require` names and not what `--import` does.
const { registerHooks } = require("node:module");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const root = join(__dirname, "..");
const own = pathToFileURL(join(root, ".tmp", "node24", "node_modules", "better-sqlite3", "/")).href;
const project = pathToFileURL(join(root, "node_modules", "better-sqlite3", "/")).href;

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    return found.url.startsWith(project) ? { ...found, url: own + found.url.slice(project.length) } : found;
  },
});
