import { setTimeout as delay } from "node:timers/promises";
import { artifact, askInput, authPending, complete, defineAgent, textOf, working } from "switchyard/agent";

/**
 * An agent whose work can be cut anywhere. A text is a verb and a number of pieces: `stream 5` puts out five pieces and
 * completes, `ask 5` asks for input after them, `auth 5` waits for authorisation first, `hang 0` works until it is
 * stopped, `say 0` answers with a message. The pieces of a message are one artifact, named after the message.
 */
async function* work({ message, task }, signal) {
  const [verb, count] = textOf(message).split(" ");
  const id = message.messageId;
  const before = task?.artifacts.find(({ artifactId }) => artifactId === id)?.parts.length ?? 0;
  if (verb === "auth" && before === 0) yield authPending("log in");
  else yield working();
  for (let piece = before; piece < Number(count); piece += 1) {
    await delay(piece % 4, undefined, { signal });
    yield artifact(`${piece}`, { id, append: piece > 0, lastChunk: piece === Number(count) - 1 });
  }
  if (verb === "hang") await delay(3_600_000, undefined, { signal });
  if (verb === "ask") return askInput("And now?");
  return complete(`${count} pieces`);
}

async function answer(turn, signal) {
  if (!textOf(turn.message).startsWith("say")) return work(turn, signal);
  await delay(5, undefined, { signal });
  return `heard ${turn.message.messageId}`;
}

const card = { name: "Cut", description: "Does work that is cut off." };

export default defineAgent({ card, answer });

/** The same with `resume`. */
export const lasting = defineAgent({ card, answer, resume: work });
