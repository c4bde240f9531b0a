import { defineConfig } from "vitest/config";

const { FUZZ_SECONDS, SOAK } = process.env;

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["node_modules/**", "test/interop/**", ...(SOAK ? [] : ["test/soak/**"])],
    // A fuzz target runs for FUZZ_SECONDS; what it needs besides is the time of any other test.
    testTimeout: 20_000 + Number(FUZZ_SECONDS ?? 0) * 1000,
    pool: "forks",
    maxWorkers: 2,
  },
});
