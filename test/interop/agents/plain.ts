import { complete, defineAgent, textOf } from "switchyard/agent";

/** Takes plain text only. Told `invalid`, it answers with a message of no parts, which no agent may do. */
export default defineAgent({
  card: { name: "Plain", description: "Takes plain text only, for tests of error answers." },
  answer: ({ message }) => (textOf(message) === "invalid" ? [] : complete()),
});
