import type { Agent, InterruptedState, Outcome, Progress, TerminalState } from "../../../src/agents/agent.js";
import { text } from "../../../src/agents/content.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { artifact } from "../../../src/agents/progress.js";
import { TaskState } from "../../../src/protocol/schema.js";
import { textOf } from "../scripted-agent.js";
import type { State } from "./reference.js";

/** What a test makes an agent do next. */
export type Pull =
  | { readonly do: "progress"; readonly state: "WORKING" | "AUTH_REQUIRED"; readonly said?: string }
  | { readonly do: "piece"; readonly id: string; readonly append: boolean; readonly text: string }
  | { readonly do: "end"; readonly state: State; readonly said?: string }
  /** Breaks the contract in one of these ways. */
  | { readonly do: "throw" }
  | { readonly do: "nonsense" }
  | { readonly do: "no outcome" };

/** An agent that does what it is told, when it is told. */
export interface Puppet {
  readonly agent: Agent;
  /** Ids of the last turn that it was given. */
  readonly last: { readonly id: string; readonly contextId: string } | undefined;
  /** Makes the turn of a task take one step. */
  pull(taskId: string, what: Pull): void;
}

/** A message that begins with `say` is answered with a message, one with `throw` not at all; the others with a task. */
export function createPuppet(): Puppet {
  const strings = new Map<string, (what: Pull) => void>();
  let last: Puppet["last"];

  function next(taskId: string, signal: AbortSignal): Promise<Pull> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      strings.set(taskId, resolve);
    });
  }

  async function* work(taskId: string, signal: AbortSignal): AsyncGenerator<Progress, Outcome> {
    for (;;) {
      const what = await next(taskId, signal);
      if (what.do === "end") return { state: stateOf(what.state), ...partsOf(what.said) };
      if (what.do === "throw") throw new Error("the puppet was torn");
      if (what.do === "no outcome") return undefined as unknown as Outcome;
      yield what.do === "nonsense" ? NONSENSE : toProgress(what);
    }
  }

  return {
    agent: {
      card: createEchoAgent().card,
      async answer({ message, taskId, contextId, task }, signal) {
        const said = textOf(message);
        if (task === undefined && said.startsWith("throw")) throw new Error("the puppet would not");
        if (task === undefined && said.startsWith("say")) {
          return { kind: "message", parts: [text(`heard ${said}`)] };
        }
        last = { id: taskId, contextId };
        return { kind: "task", work: work(taskId, signal) };
      },
    },
    get last() {
      return last;
    },
    pull(taskId, what) {
      const string = strings.get(taskId);
      if (string === undefined) throw new Error("no turn waits to be pulled");
      strings.delete(taskId);
      string(what);
    },
  };
}

const NONSENSE = { kind: "nonsense" } as unknown as Progress;

function toProgress(what: Extract<Pull, { state: "WORKING" | "AUTH_REQUIRED" } | { do: "piece" }>): Progress {
  if (what.do === "piece") return artifact(what.text, { id: what.id, append: what.append });
  return { kind: "status", state: TaskState[what.state], ...partsOf(what.said) };
}

function stateOf(state: State): TerminalState | InterruptedState {
  return TaskState[state] as TerminalState | InterruptedState;
}

function partsOf(said: string | undefined) {
  return said === undefined ? {} : { parts: [text(said)] };
}
