import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Stage, setStage } from "../scenarios/stage.js";
import { WIRES } from "../support/wires/index.js";
import { sequence, walk } from "./differential.js";

/** Unset: a few sequences, always the same ones. Set: new ones for so long. */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 0);
const RUNS =
  SECONDS > 0
    ? {
        numRuns: Number.MAX_SAFE_INTEGER,
        interruptAfterTimeLimit: SECONDS * 1000,
        markInterruptAsFailure: false,
      }
    : { numRuns: 25, seed: 1 };

describe("S1-01 any sequence of operations has the same answers on every wire", () => {
  let stages: Stage[];

  beforeAll(async () => {
    stages = await Promise.all(WIRES.map((wire) => setStage(wire)));
  });
  afterAll(async () => {
    for (const stage of stages) await stage.close();
  });

  it("holds for random sequences", { timeout: (SECONDS + 180) * 1000 }, async () => {
    const property = fc.asyncProperty(sequence, async (moves) => {
      const walked = await Promise.all(stages.map((stage) => walk(moves, stage)));
      for (const [index, seen] of walked.entries()) {
        expect(seen, `${WIRES[index]?.name} differs from ${WIRES[0]?.name}`).toEqual(walked[0]);
      }
    });
    await fc.assert(property, RUNS);
  });
});
