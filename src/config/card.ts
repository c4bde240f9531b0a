import { clone, type JsonValue, toJson } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { readJsonValue } from "../protocol/json/index.js";
import { requiredViolations } from "../protocol/required.js";
import { type AgentCard, AgentCardSchema } from "../protocol/schema.js";
import { readYaml } from "./file-source.js";
import { formatProblem } from "./problem.js";
import { isTree } from "./tree.js";

/** A card, or what is wrong with it. */
export interface CardResult {
  readonly card?: AgentCard;
  /** One line each. */
  readonly problems: readonly string[];
}

/** Reads the card fields that a configuration gives: inline, or in the file that a text names. Unknown fields are refused. */
export function readCard(source: unknown): CardResult {
  if (typeof source !== "string") return cardOf(source);
  const { value, problems } = readYaml(source, source);
  if (problems.length > 0) return { problems: problems.map(formatProblem) };
  const result = cardOf(value);
  return { ...result, problems: result.problems.map((problem) => `${source}: ${problem}`) };
}

function cardOf(value: unknown): CardResult {
  if (!isTree(value)) return { problems: ["a card is an object."] };
  try {
    // Objects that were merged here have no prototype, which JSON does not know either.
    const json = JSON.parse(JSON.stringify(value)) as JsonValue;
    return { card: readJsonValue(AgentCardSchema, json, { strict: true }), problems: [] };
  } catch (error) {
    return { problems: [describe(error)] };
  }
}

function describe(error: unknown): string {
  return `${error instanceof Error ? error.message : String(error)}.`.replace(/\.+$/, ".");
}

/** A card with every field that `over` sets replaced. */
export function overlayCard(card: AgentCard, over: AgentCard): AgentCard {
  const merged = clone(AgentCardSchema, card);
  const target = reflect(AgentCardSchema, merged);
  const source = reflect(AgentCardSchema, clone(AgentCardSchema, over));
  for (const field of source.fields) {
    if (source.isSet(field)) target.set(field, source.get(field));
  }
  return merged;
}

/** These are filled in by the gateway, or say enough when they are empty. */
const MAY_BE_EMPTY = /(^|\.)(supportedInterfaces|capabilities|skills|tags)$|\.description$/;

/** What is wrong with a card, one line each: values of the wrong type, and what the contract requires and it lacks. */
export function cardProblems(card: AgentCard): string[] {
  try {
    // The library's own writer checks every value's type; ours takes it for granted.
    toJson(AgentCardSchema, card);
    return requiredViolations(AgentCardSchema, card)
      .filter(({ field }) => !MAY_BE_EMPTY.test(field))
      .map(({ field, description }) => `${field} ${description}.`);
  } catch (error) {
    return [describe(error)];
  }
}
