import { z } from "zod";
import { choice, durationOrOff, path, pattern, toggle } from "./values.js";

const card = z.union([path("a card"), z.record(z.string(), z.unknown())], {
  error: "must be a card, or the path of a file with one (YAML or JSON)",
});

const extension = z.strictObject({
  uri: pattern("a URI in visible ASCII without a comma, as a header can carry it", /^[!-+\--~]+$/).describe(
    "URI that identifies the extension.",
  ),
  description: z.string().default("").describe("How the agent uses it, for people."),
  required: toggle()
    .prefault(false)
    .describe("Refuse calls that do not name the extension in `A2A-Extensions`."),
  params: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("Parameters of the extension, put into the card as they are."),
});

const extendedCard = z.strictObject({
  card: card
    .optional()
    .describe(
      "Fields that replace those of the public card: inline, or the path of a file. Unset: the same card.",
    ),
  public: toggle()
    .prefault(false)
    .describe(
      "Give it to anyone. For test profiles: the specification wants it for authenticated callers only.",
    ),
});

const retention = z.strictObject({
  finishedMs: durationOrOff(1000)
    .optional()
    .describe("How long tasks of this agent are kept that have ended. `off`: for ever."),
  waitingMs: durationOrOff(1000)
    .optional()
    .describe("How long tasks of this agent are kept that wait for input or authorization. `off`: for ever."),
});

/** One entry of `agents`. */
export const agentSchema = z.strictObject({
  tenant: z
    .string()
    .default("")
    .describe(
      "First path segment under which the agent is served over REST and JSON-RPC; `tenant` in the request on every other wire. Empty: the default agent.",
    ),
  kind: choice("echo", "module")
    .optional()
    .describe(
      "`module`: an agent of your own, from `file`. `echo`: the built-in one. Unset: `module` when there is a `file`.",
    ),
  file: path("the path of a module")
    .optional()
    .describe("TypeScript or JavaScript file whose default export is made with `defineAgent`."),
  card: card
    .optional()
    .describe(
      "Fields that replace those of the agent's own card: inline, or the path of a YAML or JSON file.",
    ),
  extendedCard: extendedCard
    .optional()
    .describe("Card for authenticated callers. Unset: there is none, and the card does not announce one."),
  streaming: toggle().prefault(true).describe("Offer streams for this agent."),
  busy: choice("reject", "queue")
    .prefault("reject")
    .describe("A message to a task that is running: refused, or kept until the run ends."),
  followUps: choice("resume", "new-task")
    .prefault("resume")
    .describe(
      "A message with a contextId alone: continues the one waiting task of that context, or always starts a new one.",
    ),
  concurrency: choice("many", "one")
    .prefault("many")
    .describe("How many tasks of one context may run at the same time."),
  idempotency: toggle()
    .prefault(true)
    .describe("A message that repeats an id finds the first answer. `off`: for test kits that reuse ids."),
  retention: retention
    .optional()
    .describe("Ages that differ from those of the top-level `retention` for tasks of this agent."),
  extensions: z
    .array(extension)
    .prefault([])
    .describe("Extensions added to those of the agent's card; one with the same URI replaces it."),
});
