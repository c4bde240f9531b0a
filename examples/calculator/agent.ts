import { askInput, complete, defineAgent, fail, Role, type Turn, textOf } from "switchyard/agent";

const OPERATORS = new Map<string, (a: number, b: number) => number>([
  ["+", (a, b) => a + b],
  ["-", (a, b) => a - b],
  ["*", (a, b) => a * b],
  ["/", (a, b) => a / b],
]);

/** Everything the user has said for this task, so that `6 *` and a later `7` make `6 * 7`. */
function termOf({ task, message }: Turn): string {
  const earlier = task?.history.filter(({ role }) => role === Role.USER) ?? [];
  return [...earlier, message].map((each) => textOf(each).trim()).join(" ");
}

export default defineAgent({
  card: {
    name: "Calculator",
    description: "Calculates with two numbers, and asks for what is missing.",
    version: "1.0.0",
    skills: [
      {
        id: "calculate",
        name: "Calculate",
        description: "Adds, subtracts, multiplies or divides two numbers.",
        tags: ["math"],
        examples: ["6 * 7", "6 *"],
      },
    ],
  },
  answer(turn) {
    const [, left, sign = "", right] = /^(-?[\d.]+)\s*([-+*/])?\s*(-?[\d.]+)?$/.exec(termOf(turn)) ?? [];
    if (left === undefined) return fail("I understand two numbers with + - * or / between them.");
    const operator = OPERATORS.get(sign);
    if (operator === undefined) return askInput("What shall I do with it: + - * or / ?");
    if (right === undefined) return askInput(`${left} ${sign} which number?`);
    const result = operator(Number(left), Number(right));
    return Number.isFinite(result) ? complete(String(result)) : fail("That has no result.");
  },
});
