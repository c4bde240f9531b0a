import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { createSqliteStore, StoreOpenError } from "../../../src/stores/index.js";
import { createTempDir } from "../../support/temp-dir.js";

const fault = vi.hoisted(() => ({ thrown: new Error() }));
vi.mock("better-sqlite3", () => ({
  default: class {
    constructor() {
      throw fault.thrown;
    }
  },
}));

const path = join(createTempDir(), "store.db");

it.each([
  ["none was built", new Error("Could not locate the bindings file. Tried: …")],
  [
    "it was built for another Node.js",
    Object.assign(new Error("was compiled against a different Node.js version"), {
      code: "ERR_DLOPEN_FAILED",
    }),
  ],
])("names the command that makes the native binding when %s", (_, thrown) => {
  fault.thrown = thrown;
  expect(() => createSqliteStore({ path })).toThrow(
    new StoreOpenError("SQLite's native binding is missing: run npm rebuild better-sqlite3"),
  );
});
