import { A2AError, type FieldViolation, type Reason } from "../../errors.js";

/** What was wrong with a request, for code that looks at failures; callers see the error. */
export type Problem =
  | "no route"
  | "method not allowed"
  | "target too long"
  | "bad path"
  | "bad query"
  | "bad body"
  | "binding conflict";

/** A request that cannot become a call. */
export interface Failure {
  readonly kind: "failure";
  readonly problem: Problem;
  /** The row of the error table with its HTTP status, the text, the field, and `allow` among the headers. */
  readonly error: A2AError;
}

/** A failure of this row, with an own text. */
export function failure(problem: Problem, reason: Reason, text?: string): Failure {
  return { kind: "failure", problem, error: new A2AError(reason, text === undefined ? {} : { text }) };
}

/** INVALID_ARGUMENT about a field, or about the path, query or body as a whole when `field` is undefined. */
export function invalid(problem: Problem, field: string | undefined, description: string): Failure {
  const violations: FieldViolation[] = field === undefined ? [] : [{ field, description }];
  const text = field === undefined ? description : `${field}: ${description}`;
  return { kind: "failure", problem, error: new A2AError("INVALID_ARGUMENT", { text, violations }) };
}
