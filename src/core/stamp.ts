import type { JsonObject } from "@bufbuild/protobuf";
import type { Outcome, Progress } from "../agents/agent.js";
import { newId } from "../protocol/ids.js";
import {
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from "../protocol/schema.js";
import { canTransition, phaseOf } from "../protocol/task.js";
import { invalidResponse, ownedArtifact, ownedParts, withMetadata } from "./owned.js";

// Messages are written as literals here, as in `owned.ts`: every task has several, and `create` costs ten times as much.

/** What every event of a task bears. */
export interface Stamp {
  readonly taskId: string;
  readonly contextId: string;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** A message from the agent. `parts` must not be empty. INVALID_AGENT_RESPONSE otherwise, or when a part holds nothing. */
export function agentMessage(
  stamp: Pick<Stamp, "contextId"> & { readonly taskId?: string },
  parts: readonly Part[],
  metadata?: JsonObject,
): Message {
  const message: Message = {
    $typeName: "lf.a2a.v1.Message",
    messageId: newId(),
    contextId: stamp.contextId,
    taskId: stamp.taskId ?? "",
    role: Role.AGENT,
    parts: ownedParts(parts),
    extensions: [],
    referenceTaskIds: [],
  };
  return withMetadata(message, metadata);
}

/** The event that opens a task's log: SUBMITTED, with the user's message in the history. */
export function submitted(stamp: Stamp, message: Message, metadata?: JsonObject): StreamResponse {
  const task: Task = {
    $typeName: "lf.a2a.v1.Task",
    id: stamp.taskId,
    contextId: stamp.contextId,
    status: statusNow(stamp, TaskState.SUBMITTED),
    artifacts: [],
    history: [{ ...message, taskId: stamp.taskId, contextId: stamp.contextId }],
  };
  withMetadata(task, metadata);
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } };
}

/** A user's message that joins the task's history. */
export function userMessage(stamp: Stamp, message: Message): StreamResponse {
  const value = { ...message, taskId: stamp.taskId, contextId: stamp.contextId };
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "message", value } };
}

/** A new status, stamped now. */
export function statusUpdate(
  stamp: Stamp,
  state: TaskState,
  parts?: readonly Part[],
  metadata?: JsonObject,
): StreamResponse {
  const status = statusNow(stamp, state);
  if (parts !== undefined && parts.length > 0) status.message = agentMessage(stamp, parts);
  const value: TaskStatusUpdateEvent = {
    $typeName: "lf.a2a.v1.TaskStatusUpdateEvent",
    taskId: stamp.taskId,
    contextId: stamp.contextId,
    status,
  };
  withMetadata(value, metadata);
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "statusUpdate", value } };
}

function statusNow(stamp: Stamp, state: TaskState): TaskStatus {
  const now = stamp.now();
  const seconds = Math.floor(now / 1000);
  return {
    $typeName: "lf.a2a.v1.TaskStatus",
    state,
    timestamp: {
      $typeName: "google.protobuf.Timestamp",
      seconds: BigInt(seconds),
      nanos: Math.floor((now - seconds * 1000) * 1_000_000),
    },
  };
}

/**
 * What an agent reported, as the event it becomes after `state`.
 * INVALID_AGENT_RESPONSE when it is malformed or breaks the state machine.
 */
export function progressEvent(stamp: Stamp, state: TaskState, progress: Progress): StreamResponse {
  switch (progress?.kind) {
    case "status":
      checkProgressState(progress);
      checkTransition(state, progress.state);
      return statusUpdate(stamp, progress.state, progress.parts, progress.metadata);
    case "artifact":
      return artifactUpdate(stamp, progress);
    default:
      throw invalidResponse("The agent reported something that is neither a status nor an artifact.");
  }
}

/** The event that ends a turn. INVALID_AGENT_RESPONSE when the agent gave no outcome or one that cannot follow `state`. */
export function outcomeEvent(stamp: Stamp, state: TaskState, outcome: Outcome | undefined): StreamResponse {
  if (outcome === undefined || outcome === null) throw invalidResponse("The agent ended without an outcome.");
  if (phaseOf(outcome.state) === "open") throw invalidResponse("The agent ended in a state that is no end.");
  checkTransition(state, outcome.state);
  return statusUpdate(stamp, outcome.state, outcome.parts, outcome.metadata);
}

/** State of a folded task. */
export function stateOf(task: Task): TaskState {
  return task.status?.state ?? TaskState.UNSPECIFIED;
}

function artifactUpdate(stamp: Stamp, progress: Extract<Progress, { kind: "artifact" }>): StreamResponse {
  const value: TaskArtifactUpdateEvent = {
    $typeName: "lf.a2a.v1.TaskArtifactUpdateEvent",
    taskId: stamp.taskId,
    contextId: stamp.contextId,
    artifact: ownedArtifact(progress.artifact),
    append: progress.append === true,
    lastChunk: progress.lastChunk === true,
  };
  withMetadata(value, progress.metadata);
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "artifactUpdate", value } };
}

function checkProgressState(progress: Extract<Progress, { kind: "status" }>): void {
  if (progress.state !== TaskState.WORKING && progress.state !== TaskState.AUTH_REQUIRED) {
    throw invalidResponse("The agent reported a state that only an outcome may have.");
  }
  if (progress.state === TaskState.AUTH_REQUIRED && !progress.parts?.length) {
    throw invalidResponse("The agent asked for authorisation without saying for what.");
  }
}

function checkTransition(from: TaskState, to: TaskState): void {
  if (!canTransition(from, to))
    throw invalidResponse("The agent reported a state that cannot follow the present one.");
}
