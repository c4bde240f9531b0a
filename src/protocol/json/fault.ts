import { A2AError, invalidField } from "../../errors.js";
import { pathOf } from "./path.js";

/** Why a value cannot be read. Thrown inside the reader only; its path grows as it passes outwards. */
export class Fault extends Error {
  readonly #outward: string[] = [];

  /** Adds the step that leads from the container to where the fault was found. */
  at(step: string): this {
    this.#outward.push(step);
    return this;
  }

  toA2AError(): A2AError {
    const path = pathOf(this.#outward.reverse());
    if (path !== "") return invalidField(path, this.message);
    return new A2AError("INVALID_ARGUMENT", {
      text: `The message ${this.message}.`,
      violations: [{ field: "", description: this.message }],
    });
  }
}

/** What to throw on when an item of a container could not be read. */
export function located(thrown: unknown, step: string): unknown {
  return thrown instanceof Fault ? thrown.at(step) : thrown;
}
