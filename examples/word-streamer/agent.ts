import { setTimeout as wait } from "node:timers/promises";
import { complete, defineAgent, fail, stream, textOf, working } from "switchyard/agent";

const PAUSE_MS = 50;

/** The words of a text with the space behind each, as a model would give them one by one. */
async function* wordsOf(text: string, signal: AbortSignal): AsyncGenerator<string> {
  for (const word of text.match(/\S+\s*/g) ?? []) {
    // A cancelled task rejects here, and the agent is done at once.
    await wait(PAUSE_MS, undefined, { signal });
    yield word;
  }
}

export default defineAgent({
  card: {
    name: "Word streamer",
    description: "Says a text again, word by word.",
    version: "1.0.0",
    skills: [
      {
        id: "stream",
        name: "Stream",
        description: "Puts a text out as one artifact, a word at a time.",
        tags: ["streaming"],
        examples: ["The quick brown fox"],
      },
    ],
  },
  async *answer(turn, signal) {
    const text = textOf(turn.message);
    if (text.trim() === "") return fail("There is nothing to say.");
    yield working("Speaking…");
    yield* stream(wordsOf(text, signal), { id: "words", name: "Words" });
    return complete();
  },
});
