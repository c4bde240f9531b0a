import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agents/agent.js";
import { complete, working } from "../../../src/agents/progress.js";
import { createGates } from "../../support/gates.js";
import { startGateway } from "../../support/gateway.js";
import { scriptedCard, textOf } from "../../support/scripted-agent.js";
import { createTempDir } from "../../support/temp-dir.js";
import { type Answer, WIRES, type WireClient } from "../../support/wires/index.js";

const STOPPED = "The gateway was stopped while this task was running.";
const dir = createTempDir();

/** An agent that works until a gate opens; one that lasts takes its work up again. */
function createWorker(lasts: boolean) {
  const gates = createGates();
  const asked: string[] = [];
  const work: NonNullable<Agent["resume"]> = async ({ message }, signal) => {
    asked.push(textOf(message));
    return {
      kind: "task",
      work: (async function* () {
        yield working("on it");
        await gates.pass("end", signal);
        return complete("done");
      })(),
    };
  };
  const agent: Agent = { card: scriptedCard(), answer: work, ...(lasts && { resume: work }) };
  return { agent, gates, asked };
}

const message = (text: string) => ({ messageId: text, role: "ROLE_USER", parts: [{ text }] });

interface StatusJson {
  readonly state: string;
  readonly message?: { readonly parts: readonly { readonly text?: string }[] };
}

async function statusOf(client: WireClient, tenant: string, text: string): Promise<StatusJson> {
  const answer = await client.call("ListTasks", { tenant });
  assert.ok(answer.kind === "ok");
  const { tasks = [] } = answer.message as unknown as {
    tasks?: { status: StatusJson; history: { messageId: string }[] }[];
  };
  const found = tasks.find(({ history }) => history.some(({ messageId }) => messageId === text));
  assert.ok(found, `the task of ${text}`);
  return found.status;
}

describe.each(WIRES)(
  "a gateway that stops in the middle of runs, over $name (S2-10)",
  ({ connect, name }) => {
    it("answers whoever waits, records what became of the tasks, and goes on after its next start", async () => {
      const store = { kind: "sqlite", path: join(dir, `${name.replaceAll(/\W/g, "-")}.db`) } as const;
      const served = () => {
        const brief = createWorker(false);
        const lasting = createWorker(true);
        return {
          brief,
          lasting,
          agents: [{ agent: brief.agent }, { tenant: "lasting", agent: lasting.agent }],
        };
      };
      const first = served();
      const before = await startGateway({ agents: first.agents, store, drainMs: 50 });
      const client = connect(before);
      const blocked: Promise<Answer>[] = [];
      const cut: Promise<readonly string[]>[] = [];
      for (const tenant of ["", "lasting"]) {
        blocked.push(client.call("SendMessage", { tenant, message: message("blocked") }));
        const stream = client.stream("SendStreamingMessage", { tenant, message: message("streamed") });
        cut.push(
          (async () => {
            const kinds: string[] = [];
            for (let step = await stream.next(); ; step = await stream.next()) {
              kinds.push(step.kind === "error" ? step.error.code : step.kind);
              if (step.kind !== "event") return kinds;
            }
          })(),
        );
      }
      await first.brief.gates.reached("end");
      await first.lasting.gates.reached("end");
      await expect.poll(() => first.brief.asked.length + first.lasting.asked.length).toBe(4);
      await before.gateway.drain();
      for (const answer of await Promise.all(blocked)) {
        expect(answer.kind === "error" && answer.error.code).toBe("UNAVAILABLE");
      }
      for (const kinds of await Promise.all(cut)) expect(kinds.at(-1)).toBe("UNAVAILABLE");
      await client.close();

      const second = served();
      const after = await startGateway({ agents: second.agents, store });
      const again = connect(after);
      for (const text of ["blocked", "streamed"]) {
        const stopped = await statusOf(again, "", text);
        expect([stopped.state, stopped.message?.parts[0]?.text]).toEqual(["TASK_STATE_FAILED", STOPPED]);
      }
      second.lasting.gates.openAll();
      for (const text of ["blocked", "streamed"]) {
        await expect
          .poll(async () => (await statusOf(again, "lasting", text)).state)
          .toBe("TASK_STATE_COMPLETED");
      }
      expect(second.lasting.asked.sort()).toEqual(["blocked", "streamed"]);
      expect(second.brief.asked).toEqual([]);
      await again.close();
      await after.close();
    });
  },
);
