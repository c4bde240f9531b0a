import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const { FUZZ_SECONDS, SOAK } = process.env;

function source(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

export default defineConfig({
  // The package under its own name, as agents import it, from the source instead of dist/.
  resolve: {
    alias: [
      { find: /^switchyard\/agent$/, replacement: source("src/agents/author.ts") },
      { find: /^switchyard$/, replacement: source("src/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["node_modules/**", "test/interop/**", ...(SOAK ? [] : ["test/soak/**"])],
    // A fuzz target runs for FUZZ_SECONDS; what it needs besides is the time of any other test.
    testTimeout: 20_000 + Number(FUZZ_SECONDS ?? 0) * 1000,
    pool: "forks",
    maxWorkers: 2,
  },
});
