// The benchmark's agent as a module of the gateway.
import {
  artifact,
  defineAgent,
  type Step,
  type Turn,
  textOf,
  type Work,
} from "../../../src/agents/author.js";
import { chunkText, gateOf, planOf } from "./script.js";

export default defineAgent({
  card: {
    name: "Bench",
    description: "Answers as its message says.",
    defaultInputModes: ["*/*"],
    defaultOutputModes: ["*/*"],
  },
  answer: ({ message }, signal) => work(message, signal),
});

async function* work(message: Turn["message"], signal: AbortSignal): Work {
  const plan = planOf(textOf(message));
  switch (plan.kind) {
    case "echo":
      yield artifact(message.parts, { id: "echo", name: "echo" });
      return;
    case "chunks":
      yield* chunks(plan.count);
      return;
    case "hold":
      yield "holding";
      await stopped(signal);
      return;
    case "gate":
      yield "waiting";
      await gateOf(plan.key).opened;
      yield* chunks(plan.count);
      return;
    case "open":
      gateOf(plan.key).open();
      yield artifact(plan.key);
  }
}

function* chunks(count: number): Generator<Step> {
  for (let index = 1; index <= count; index += 1) {
    yield artifact(chunkText(index), { id: "text", append: index > 1, lastChunk: index === count });
  }
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
