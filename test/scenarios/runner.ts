import { afterAll, describe, expect, test } from "vitest";
import type { Wire } from "../support/wires/index.js";
import { loadScenarios, type Scenario } from "./format.js";
import { play, type Transcript } from "./player.js";
import type { Stage } from "./stage.js";

/** One way to play the scenarios. */
export interface Production {
  readonly name: string;
  readonly wire: Wire;
  setStage(): Promise<Stage>;
}

/** Plays every scenario in each production and expects the same transcript in all that can say it. */
export function playEverywhere(productions: readonly Production[]): void {
  const scenarios = loadScenarios(new URL(".", import.meta.url));
  const standing = new Map<Production, Promise<Stage>>();
  const references = new Map<Scenario, Promise<Transcript>>();

  afterAll(async () => {
    for (const stage of standing.values()) await (await stage).close();
  });

  describe.each(productions)("$name", (production) => {
    test.each(scenarios.filter((scenario) => isFor(scenario, production)))(
      "$file: $title",
      async (scenario) => {
        const played = perform(production, scenario);
        const reference = references.get(scenario) ?? referenceOf(scenario, production, played);
        references.set(scenario, reference);
        expect(await played).toEqual(await reference);
      },
    );
  });

  /** What the first production that can say the scenario sees; played by itself when only others are asked for. */
  function referenceOf(
    scenario: Scenario,
    production: Production,
    played: Promise<Transcript>,
  ): Promise<Transcript> {
    const first = productions.find((each) => isFor(scenario, each)) ?? production;
    return first === production ? played : perform(first, scenario);
  }

  async function perform(production: Production, scenario: Scenario): Promise<Transcript> {
    if (!scenario.fresh) {
      const stage = standing.get(production) ?? production.setStage();
      standing.set(production, stage);
      return play(scenario, await stage);
    }
    const stage = await production.setStage();
    return play(scenario, stage).finally(stage.close);
  }
}

function isFor({ on }: Scenario, { wire }: Production): boolean {
  return on.length === 0 || on.some((tag) => wire.tags.includes(tag));
}
