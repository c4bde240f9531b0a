import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { createMemoryStore } from "../../src/stores/index.js";
import type { FullTaskStore } from "../../src/stores/task-store.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { createQuietStore } from "../support/quiet-store.js";
import { createScriptedAgent, type ScriptedAgent, scriptedCard } from "../support/scripted-agent.js";
import type { Wire, WireClient } from "../support/wires/index.js";

/** A gateway with scripted agents, and a client that reaches it over one wire. */
export interface Stage {
  readonly client: WireClient;
  /** Every tenant's agent follows the same scripts. */
  readonly agent: ScriptedAgent;
  /** Resolves when what the agents did so far is visible to callers. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

const STRICT = {
  capabilities: {
    extensions: [{ uri: "https://example.com/strict", required: true }, { uri: "https://example.com/loud" }],
  },
};

const EXTENDED = scriptedCard({
  name: "Extended",
  skills: [
    { id: "act", name: "Act", description: "Acts.", tags: ["test"] },
    { id: "more", name: "More", description: "Does more.", tags: ["test"] },
  ],
});

/** Sets a stage with the tenants that the scenarios speak of. The store is closed with it. */
export async function setStage(wire: Wire, kept: FullTaskStore = createMemoryStore()): Promise<Stage> {
  const { store, quiet } = createQuietStore(kept);
  const agent = createScriptedAgent();
  const gateway = await startGateway({
    store,
    publicUrl: "http://gateway.test",
    publicGrpc: "gateway.test:443",
    agents: [
      { agent },
      { tenant: "acme", agent },
      { tenant: "strict", agent: { ...agent, card: scriptedCard(STRICT) } },
      { tenant: "quiet", agent, streaming: false },
      { tenant: "queue", agent, policy: { busy: "queue" } },
      { tenant: "single", agent, policy: { concurrency: "one" } },
      { tenant: "separate", agent, policy: { followUps: "new-task" } },
      { tenant: "announced", agent, announceExtendedCard: true },
      { tenant: "locked", agent, extendedCard: EXTENDED },
      { tenant: "carded", agent, extendedCard: EXTENDED, extendedCardPublic: true },
    ],
  });
  const client = wire.connect(gateway);
  return {
    client,
    agent,
    quiet,
    close: async () => {
      await expectNothingLeft(gateway);
      await client.close();
      await gateway.close();
    },
  };
}

/** Clients that leave are noticed by their sockets, which takes a moment. */
async function expectNothingLeft({ gateway }: TestGateway): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { runs, openStreams } = await gateway.status();
    if (runs === 0 && openStreams === 0) return;
    await delay(5);
  }
  const { runs, openStreams } = await gateway.status();
  assert.deepEqual({ runs, openStreams }, { runs: 0, openStreams: 0 }, "no run and no reader is left over");
}
