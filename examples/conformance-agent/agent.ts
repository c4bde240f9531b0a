import { defineAgent, type Message, Role, type Turn, textOf } from "switchyard/agent";
import { findInstruction, perform } from "./instruction.js";
import { type Behaviour, DEFAULT_BEHAVIOUR, findBehaviour, MULTI_TURN, multiTurn } from "./triggers.js";

/** The behaviour that a message names, by its id or else by its text. */
function behaviourOf(message: Message): Behaviour | undefined {
  const text = message.parts.find(({ content }) => content.case === "text")?.content.value;
  return findBehaviour(message.messageId) ?? (typeof text === "string" ? findBehaviour(text) : undefined);
}

/** A conversation of several turns goes on although its later messages do not name it. */
function isInMultiTurn({ task }: Turn): boolean {
  const first = task?.history.find(({ role }) => role === Role.USER);
  return (
    first !== undefined && (first.messageId.startsWith(MULTI_TURN) || textOf(first).startsWith(MULTI_TURN))
  );
}

export default defineAgent({
  card: {
    name: "Conformance agent",
    description: "Shows fixed behaviours on fixed triggers, for conformance and interoperability kits.",
    version: "1.0.0",
    defaultInputModes: ["*/*"],
    defaultOutputModes: ["text/plain", "application/json", "application/octet-stream"],
    skills: [
      {
        id: "conformance",
        name: "Conformance",
        description: "Behaves as the beginning of a message's id or text says.",
        tags: ["conformance", "test"],
        examples: ["tck-complete-task", "tck-stream-basic"],
      },
      {
        id: "interop",
        name: "Interoperability",
        description: "Carries out an instruction in protobuf that comes as a file.",
        tags: ["interop", "test"],
      },
    ],
  },
  answer(turn, signal) {
    const instruction = findInstruction(turn.message);
    if (instruction !== undefined) return perform(instruction, signal);
    const behave = behaviourOf(turn.message) ?? (isInMultiTurn(turn) ? multiTurn : DEFAULT_BEHAVIOUR);
    return behave(turn, signal);
  },
});
