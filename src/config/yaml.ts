import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** The YAML library. Loaded when first asked for: a start without a configuration file needs none of its 70 modules. */
export function yaml(): typeof import("yaml") {
  return require("yaml") as typeof import("yaml");
}
