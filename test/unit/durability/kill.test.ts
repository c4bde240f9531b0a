import { expect, it, vi } from "vitest";
import { killRounds } from "../../support/kill/rounds.js";

// The program may have to be compiled first.
vi.setConfig({ testTimeout: 120_000 });

it("S0-14 S2-04 S2-10 a gateway that is killed loses nothing that it acknowledged, and repeats nothing", async () => {
  const toll = await killRounds({ kills: 5, seed: 6 });
  expect(toll.kills).toBe(5);
  expect(toll.cutStreams).toBeGreaterThan(0);
  expect(toll.openSends).toBeGreaterThan(0);
});
