import { afterAll, describe, expect, test } from "vitest";
import { WIRES, type Wire } from "../support/wires/index.js";
import { loadScenarios, type Scenario } from "./format.js";
import { play, type Transcript } from "./player.js";
import { type Stage, setStage } from "./stage.js";

const SCENARIOS = loadScenarios(new URL(".", import.meta.url));
const stages = new Map<Wire, Promise<Stage>>();
const references = new Map<Scenario, Promise<Transcript>>();

afterAll(async () => {
  for (const stage of stages.values()) await (await stage).close();
});

describe.each(WIRES)("over $name", (wire) => {
  test.each(SCENARIOS.filter((scenario) => isFor(scenario, wire)))("$file: $title", async (scenario) => {
    const played = playOn(wire, scenario);
    const reference = references.get(scenario) ?? referenceOf(scenario, wire, played);
    references.set(scenario, reference);
    expect(await played).toEqual(await reference);
  });
});

/** What the first wire that can say the scenario sees; played on its own when only other wires are asked for. */
function referenceOf(scenario: Scenario, wire: Wire, played: Promise<Transcript>): Promise<Transcript> {
  const first = WIRES.find((each) => isFor(scenario, each)) ?? wire;
  return first === wire ? played : playOn(first, scenario);
}

async function playOn(wire: Wire, scenario: Scenario): Promise<Transcript> {
  if (!scenario.fresh) {
    const { client, agent } = await standing(wire);
    return play(scenario, client, agent);
  }
  const { client, agent, close } = await setStage(wire);
  return play(scenario, client, agent).finally(close);
}

function standing(wire: Wire): Promise<Stage> {
  const stage = stages.get(wire) ?? setStage(wire);
  stages.set(wire, stage);
  return stage;
}

function isFor({ on }: Scenario, { tags }: Wire): boolean {
  return on.length === 0 || on.some((tag) => tags.includes(tag));
}
