import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import {
  artifact,
  askAuth,
  askInput,
  canceled,
  complete,
  data,
  fail,
  file,
  type Part,
  type Reaction,
  reject,
  stream,
  type Turn,
  text,
  textOf,
  type Work,
  working,
} from "switchyard/agent";

/** What the agent does on a trigger. */
export type Behaviour = (turn: Turn, signal: AbortSignal) => Reaction;

/** How messages of a conversation of several turns begin. */
export const MULTI_TURN = "tck-multi-turn";

/** Waits for input until a text begins with `done`. */
export const multiTurn: Behaviour = ({ message }) =>
  textOf(message).startsWith("done") ? complete("All turns are done.") : askInput();

/** What a message without a trigger gets. */
export const DEFAULT_BEHAVIOUR: Behaviour = () => complete("Nothing was asked for.");

const FILE = { name: "output.txt", mediaType: "text/plain" };
const INLINE_FILE = file({ ...FILE, bytes: "tck" });
const LONG_RUN_MS = 5000;
const RESUBSCRIBE_RUN_MS = 4000;

/** One artifact, then COMPLETED. */
function putOut(...parts: readonly Part[]): Behaviour {
  return async function* () {
    yield artifact(parts);
  };
}

/** WORKING first, then the same. */
function workAndPutOut(...parts: readonly Part[]): Behaviour {
  return async function* () {
    yield working();
    yield artifact(parts);
  };
}

async function* putOutChunks(): Work {
  yield working();
  yield* stream(["chunk-1 ", "chunk-2"]);
}

async function* workUntilCanceled(_turn: Turn, signal: AbortSignal): Work {
  yield working();
  if (!signal.aborted) await once(signal, "abort");
  return canceled();
}

async function* runLong(_turn: Turn, signal: AbortSignal): Work {
  yield working();
  await wait(LONG_RUN_MS / 2, undefined, { signal });
  yield artifact("Long running output");
  await wait(LONG_RUN_MS / 2, undefined, { signal });
}

async function* runForResubscription(_turn: Turn, signal: AbortSignal): Work {
  yield working();
  await wait(RESUBSCRIBE_RUN_MS, undefined, { signal });
}

const BEHAVIOURS = new Map<string, Behaviour>([
  ["tck-complete-task", () => complete("Hello from TCK")],
  ["tck-input-required", () => askInput("Input is required.")],
  ["tck-artifact-text", putOut(text("Generated text content"))],
  ["tck-artifact-file", putOut(INLINE_FILE)],
  ["tck-artifact-file-url", putOut(file({ ...FILE, url: "https://example.com/output.txt" }))],
  ["tck-artifact-data", putOut(data({ key: "value", count: 42 }))],
  ["tck-message-response", () => "Direct message response"],
  ["tck-stream-001", workAndPutOut(text("Stream hello from TCK"))],
  ["tck-stream-002", () => complete()],
  ["tck-stream-003", workAndPutOut(text("Stream task lifecycle"))],
  ["tck-stream-ordering-001", workAndPutOut(text("Ordered output"))],
  ["tck-stream-basic", workAndPutOut(text("Basic stream output"))],
  ["tck-stream-artifact-text", workAndPutOut(text("Streamed text content"))],
  ["tck-stream-artifact-file", workAndPutOut(INLINE_FILE)],
  ["tck-stream-artifact-chunked", putOutChunks],
  ["tck-stream-chunked", putOutChunks],
  ["tck-reject-task", () => reject("rejected")],
  ["tck-task-failure", () => fail("The task failed, as it was asked to.")],
  ["tck-auth-required", () => askAuth("Authorization is required.")],
  [MULTI_TURN, multiTurn],
  ["tck-cancel", workUntilCanceled],
  ["tck-long-running", runLong],
  ["test-resubscribe-message-id", runForResubscription],
]);

const LONGEST_FIRST = [...BEHAVIOURS].sort(([a], [b]) => b.length - a.length);

/** The behaviour with the longest name that a text begins with. */
export function findBehaviour(text: string): Behaviour | undefined {
  return LONGEST_FIRST.find(([name]) => text.startsWith(name))?.[1];
}
