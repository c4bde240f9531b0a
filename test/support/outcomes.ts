import assert from "node:assert/strict";
import type { Reply } from "../../src/core/context.js";
import { A2AError } from "../../src/errors.js";
import { type Message, type Task, TaskState } from "../../src/protocol/schema.js";

/** The task in a response. */
export function taskOf(response: {
  readonly payload: { readonly case?: string | undefined; readonly value?: unknown };
}): Task {
  assert.equal(response.payload.case, "task");
  return response.payload.value as Task;
}

/** The answer of a unary call. */
export function messageOf<Answer>(reply: Reply): Answer {
  assert.equal(reply.kind, "unary");
  return (reply as Extract<Reply, { kind: "unary" }>).message as Answer;
}

/** State of a task by its name. */
export function stateName(task: Task): string {
  return TaskState[task.status?.state ?? 0] ?? "?";
}

/** The first text of each message. */
export function textsOf(messages: readonly Message[]): string[] {
  return messages.map(({ parts }) => {
    const content = parts[0]?.content;
    return content?.case === "text" ? content.value : "";
  });
}

/** Reason of the error that a promise rejects with; `no error` when it does not. */
export async function reasonOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return error instanceof A2AError ? error.reason : `not an A2AError: ${error}`;
  }
  return "no error";
}
