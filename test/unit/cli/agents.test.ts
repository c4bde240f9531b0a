import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createModuleLoader } from "../../../src/agents/module.js";
import { loadAgents } from "../../../src/cli/agents.js";
import { formatProblems, loadConfig } from "../../../src/config/load.js";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "switchyard-agents-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, content: string): string {
  const file = join(directory, name);
  writeFileSync(file, content);
  return file;
}

async function load(yaml: string) {
  write("switchyard.yaml", yaml);
  const { config, problems } = loadConfig({ directory });
  if (config === undefined) throw new Error(formatProblems(problems).join("\n"));
  return await loadAgents(config, createModuleLoader());
}

async function problemsOf(yaml: string): Promise<string[]> {
  return formatProblems((await load(yaml)).problems);
}

const CARD =
  "{ name: Own, description: d, version: '1', defaultInputModes: [text/plain], defaultOutputModes: [text/plain] }";

describe("the agents of a configuration", () => {
  it("may keep their tasks for other times than the general ones", async () => {
    const { agents } = await load(
      "agents: [{ kind: echo }, { kind: echo, tenant: t, retention: { finishedMs: 7 d, waitingMs: off } }]",
    );
    expect(agents.map(({ retention }) => retention)).toEqual([
      undefined,
      [{ maxAgeMs: 7 * 86_400_000 }, { maxAgeMs: Number.POSITIVE_INFINITY, states: [6, 8] }],
    ]);
  });

  it("are the echo agent when nothing else is said", async () => {
    const { agents, problems, files } = await load("");
    expect(problems).toEqual([]);
    expect(files).toEqual([]);
    expect(agents).toMatchObject([
      {
        tenant: "",
        agent: { card: { name: "Echo" } },
        streaming: true,
        policy: { busy: "reject", followUps: "resume", concurrency: "many", idempotency: true },
        extendedCardPublic: false,
      },
    ]);
    expect(agents[0]?.extendedCard).toBeUndefined();
  });

  it("take policy, extensions and cards from their entries", async () => {
    write(
      "card.json",
      '{"name": "From a file", "skills": [{"id": "s", "name": "S", "description": "", "tags": []}]}',
    );
    const { agents, problems, files } = await load(`
agents:
  - tenant: a
    card: card.json
    busy: queue
    idempotency: off
    streaming: false
    extensions: [{ uri: 'urn:x', required: true, params: { a: [1] } }]
    extendedCard: { public: true, card: { description: More. } }
`);
    expect(problems).toEqual([]);
    expect(files).toEqual([join(directory, "card.json")]);
    expect(agents).toMatchObject([
      {
        tenant: "a",
        streaming: false,
        policy: { busy: "queue", idempotency: false },
        extensions: [{ uri: "urn:x", required: true, params: { a: [1] } }],
        extendedCardPublic: true,
      },
    ]);
    expect(agents[0]?.agent.card).toMatchObject({
      name: "From a file",
      description: "Answers every message with its own parts.",
      skills: [{ id: "s" }],
    });
    expect(agents[0]?.extendedCard).toMatchObject({ name: "From a file", description: "More." });
  });

  it("keep the methods of a module that exports an object of a class", async () => {
    write(
      "agent.mjs",
      `class Agent {
        card = ${CARD.replaceAll("text/plain", "'text/plain'").replaceAll("name: Own, description: d", "name: 'Own', description: 'd'")};
        parts = [];
        async answer() { return { kind: "message", parts: this.parts }; }
      }
      export default new Agent();`,
    );
    const { agents, problems } = await load("agents: [{ file: agent.mjs }]");
    expect(problems).toEqual([]);
    const turn = {} as Parameters<NonNullable<(typeof agents)[0]>["agent"]["answer"]>[0];
    expect(await agents[0]?.agent.answer(turn, new AbortController().signal)).toEqual({
      kind: "message",
      parts: [],
    });
  });

  it("are refused with every problem of theirs, one line each", async () => {
    write("typed.mjs", "export default { card: { name: 'A', skills: [5] }, answer() {} };");
    write("bare.mjs", "export default { card: {}, answer() {} };");
    write("card.yaml", "name: A\nskils: []\n");
    write("broken.yaml", "name: [");
    const problems = await problemsOf(`
agents:
  - { tenant: a, file: none.mjs }
  - { tenant: b, file: typed.mjs }
  - { tenant: c, card: card.yaml }
  - { tenant: d, card: { name: '', defaultInputModes: [], provider: { organization: o } } }
  - { tenant: e, card: broken.yaml }
  - { tenant: f, extendedCard: { card: { skills: [{ id: x }] } } }
  - { tenant: g, card: nowhere.yaml }
  - { tenant: h, file: bare.mjs }
`);
    const at = (name: string) => join(directory, name);
    expect(problems).toEqual([
      `agents[0].file: ${at("none.mjs")}: there is no such file.`,
      expect.stringMatching(/^agents\[1\]\.card: /),
      `agents[2].card: ${at("card.yaml")}: skils: is not a known field.`,
      "agents[3].card: provider.url must not be empty.",
      expect.stringMatching(/^agents\[4\]\.card: .*broken\.yaml:1: /),
      "agents[5].extendedCard: skills[0].name must not be empty.",
      `agents[6].card: ${at("nowhere.yaml")}: there is no such file.`,
      "agents[7].card: name must not be empty.",
      "agents[7].card: description must not be empty.",
    ]);
  });
});
