import { create } from "@bufbuild/protobuf";
import { AgentCardSchema, type Artifact, type Message, TaskState } from "../protocol/schema.js";
import type { Agent, Outcome, Progress } from "./agent.js";

const ECHO_CARD = create(AgentCardSchema, {
  name: "Echo",
  description: "Answers every message with its own parts.",
  version: "1.0.0",
  defaultInputModes: ["*/*"],
  defaultOutputModes: ["*/*"],
  skills: [
    {
      id: "echo",
      name: "Echo",
      description: "Returns the parts of a message, unchanged, as one artifact.",
      tags: ["echo", "test"],
      examples: ["Hello"],
    },
  ],
});

/**
 * The built-in agent: each message becomes a task with one artifact that holds the message's parts
 * unchanged, and is COMPLETED.
 */
export function createEchoAgent(): Agent {
  return {
    card: ECHO_CARD,
    answer: async ({ message }) => ({ kind: "task", work: echo(message) }),
  };
}

async function* echo(message: Message): AsyncGenerator<Progress, Outcome> {
  yield { kind: "status", state: TaskState.WORKING };
  const artifact: Artifact = {
    $typeName: "lf.a2a.v1.Artifact",
    artifactId: "echo",
    name: "echo",
    description: "",
    parts: message.parts,
    extensions: [],
  };
  yield { kind: "artifact", artifact, append: false, lastChunk: true };
  return { state: TaskState.COMPLETED };
}
