import { expect, it, vi } from "vitest";
import { killRounds } from "../support/kill/rounds.js";

/** Kills, each at another point; a failure names the seed that plays it again. */
const KILLS = Number(process.env.SOAK_KILLS ?? 1000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 2 ** 31);

vi.setConfig({ testTimeout: 60_000 + KILLS * 30_000 });

it(`S2-10 ${KILLS} kills at random points lose nothing that was acknowledged, and repeat nothing`, async () => {
  const toll = await killRounds({
    kills: KILLS,
    seed: SEED,
    onKill: (so) => so.kills % 50 === 0 && console.info(JSON.stringify(so)),
  });
  expect(toll.kills).toBe(KILLS);
});
