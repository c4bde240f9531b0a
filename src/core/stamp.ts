import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Outcome, Progress } from "../agents/agent.js";
import { A2AError } from "../errors.js";
import { newId } from "../protocol/ids.js";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
  TaskStatusUpdateEventSchema,
} from "../protocol/schema.js";
import { canTransition, phaseOf } from "../protocol/task.js";

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
  checkParts(parts);
  return create(MessageSchema, {
    messageId: newId(),
    role: Role.AGENT,
    contextId: stamp.contextId,
    taskId: stamp.taskId ?? "",
    parts: [...parts],
    ...(metadata && { metadata }),
  });
}

/** The event that opens a task's log: SUBMITTED, with the user's message in the history. */
export function submitted(stamp: Stamp, message: Message, metadata?: JsonObject): StreamResponse {
  const task = create(TaskSchema, {
    id: stamp.taskId,
    contextId: stamp.contextId,
    status: { state: TaskState.SUBMITTED, timestamp: timestampFromMs(stamp.now()) },
    history: [{ ...message, taskId: stamp.taskId, contextId: stamp.contextId }],
    ...(metadata && { metadata }),
  });
  return create(StreamResponseSchema, { payload: { case: "task", value: task } });
}

/** A user's message that joins the task's history. */
export function userMessage(stamp: Stamp, message: Message): StreamResponse {
  const value = { ...message, taskId: stamp.taskId, contextId: stamp.contextId };
  return create(StreamResponseSchema, { payload: { case: "message", value } });
}

/** A new status, stamped now. */
export function statusUpdate(
  stamp: Stamp,
  state: TaskState,
  parts?: readonly Part[],
  metadata?: JsonObject,
): StreamResponse {
  const status = create(TaskStatusSchema, {
    state,
    timestamp: timestampFromMs(stamp.now()),
    ...(parts && parts.length > 0 && { message: agentMessage(stamp, parts) }),
  });
  const value = create(TaskStatusUpdateEventSchema, {
    taskId: stamp.taskId,
    contextId: stamp.contextId,
    status,
    ...(metadata && { metadata }),
  });
  return create(StreamResponseSchema, { payload: { case: "statusUpdate", value } });
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
      throw invalid("The agent reported something that is neither a status nor an artifact.");
  }
}

/** The event that ends a turn. INVALID_AGENT_RESPONSE when the agent gave no outcome or one that cannot follow `state`. */
export function outcomeEvent(stamp: Stamp, state: TaskState, outcome: Outcome | undefined): StreamResponse {
  if (outcome === undefined || outcome === null) throw invalid("The agent ended without an outcome.");
  if (phaseOf(outcome.state) === "open") throw invalid("The agent ended in a state that is no end.");
  checkTransition(state, outcome.state);
  return statusUpdate(stamp, outcome.state, outcome.parts, outcome.metadata);
}

/** State of a folded task. */
export function stateOf(task: Task): TaskState {
  return task.status?.state ?? TaskState.UNSPECIFIED;
}

function artifactUpdate(stamp: Stamp, progress: Extract<Progress, { kind: "artifact" }>): StreamResponse {
  const value = create(TaskArtifactUpdateEventSchema, {
    taskId: stamp.taskId,
    contextId: stamp.contextId,
    artifact: checkedArtifact(progress.artifact),
    append: progress.append === true,
    lastChunk: progress.lastChunk === true,
    ...(progress.metadata && { metadata: progress.metadata }),
  });
  return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
}

/** The event keeps an artifact of its own: an agent that goes on changing its object changes nothing here. */
function checkedArtifact(artifact: Artifact): Artifact {
  if (artifact === null || typeof artifact !== "object") throw invalid("The agent reported no artifact.");
  checkParts(artifact.parts);
  return create(ArtifactSchema, {
    ...artifact,
    artifactId: artifact.artifactId || newId(),
    parts: [...artifact.parts],
  });
}

function checkParts(parts: readonly Part[]): void {
  if (!Array.isArray(parts) || parts.length === 0) throw invalid("The agent sent no parts.");
  if (parts.some((part) => part?.content?.case === undefined)) {
    throw invalid("The agent sent a part that holds nothing.");
  }
}

function checkProgressState(progress: Extract<Progress, { kind: "status" }>): void {
  if (progress.state !== TaskState.WORKING && progress.state !== TaskState.AUTH_REQUIRED) {
    throw invalid("The agent reported a state that only an outcome may have.");
  }
  if (progress.state === TaskState.AUTH_REQUIRED && !progress.parts?.length) {
    throw invalid("The agent asked for authorisation without saying for what.");
  }
}

function checkTransition(from: TaskState, to: TaskState): void {
  if (!canTransition(from, to))
    throw invalid("The agent reported a state that cannot follow the present one.");
}

function invalid(text: string): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", { text });
}
