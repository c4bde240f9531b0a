import { create } from "@bufbuild/protobuf";
import { A2AError } from "../errors.js";
import { GrowingArtifact } from "./artifact.js";
import {
  type Artifact,
  type Message,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
  type TaskStatusUpdateEvent,
} from "./schema.js";

/** Open: work is going on or about to. Interrupted: waits for the user. Terminal: nothing follows. */
export type Phase = "open" | "interrupted" | "terminal";

const TERMINAL = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED] as const;

/** Where each state may go; a state that keeps itself is an update, and allowed unless it is terminal. */
const TRANSITIONS: ReadonlyMap<TaskState, ReadonlySet<TaskState>> = new Map([
  [
    TaskState.SUBMITTED,
    new Set([
      TaskState.SUBMITTED,
      TaskState.WORKING,
      TaskState.INPUT_REQUIRED,
      TaskState.AUTH_REQUIRED,
      ...TERMINAL,
    ]),
  ],
  [
    TaskState.WORKING,
    new Set([TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED, ...TERMINAL]),
  ],
  [
    TaskState.INPUT_REQUIRED,
    new Set([TaskState.INPUT_REQUIRED, TaskState.WORKING, TaskState.AUTH_REQUIRED, ...TERMINAL]),
  ],
  [
    TaskState.AUTH_REQUIRED,
    new Set([TaskState.AUTH_REQUIRED, TaskState.WORKING, TaskState.INPUT_REQUIRED, ...TERMINAL]),
  ],
]);

const PHASES: ReadonlyMap<TaskState, Phase> = new Map([
  [TaskState.INPUT_REQUIRED, "interrupted"],
  [TaskState.AUTH_REQUIRED, "interrupted"],
  ...TERMINAL.map((state): [TaskState, Phase] => [state, "terminal"]),
]);

/** Phase of a state (specification 4.1.3). Unspecified and unknown numbers count as open: they promise no end. */
export function phaseOf(state: TaskState): Phase {
  return PHASES.get(state) ?? "open";
}

/** Whether a status with state `to` may follow one with state `from`. Unspecified and unknown numbers never may. */
export function canTransition(from: TaskState, to: TaskState): boolean {
  return TRANSITIONS.get(from)?.has(to) ?? false;
}

/** A task that grows with its log. */
export interface TaskFold {
  /**
   * Folds in one more event; constant time. Keeps references to its parts and never changes them.
   * Throws INTERNAL when the event cannot stand at this place of a log.
   */
  apply(response: StreamResponse): void;
  /**
   * The task as it is now, with lists of its own: later events do not show in it. Takes time in its number of messages
   * and artifacts, and of the chunks of those that grew since the last time. Throws INTERNAL before the first event.
   */
  task(): Task;
  /** Context of the task; empty before the first event. Constant time. */
  readonly contextId: string;
  /** Status of the task as it is now. Constant time. */
  readonly status: TaskStatus | undefined;
  /** State of the task as it is now; unspecified before the first event. Constant time. */
  readonly state: TaskState;
}

/** What a fold changes in place; the lists only ever grow at their end, except that an artifact is replaced by its next version. */
interface Growing {
  readonly id: string;
  readonly contextId: string;
  readonly metadata: Task["metadata"];
  status: TaskStatus | undefined;
  readonly history: Message[];
  readonly artifacts: GrowingArtifact[];
  /** Place of each artifact by its id; made with the first. */
  places: Map<string, number> | undefined;
}

/** Starts a fold with a task, for example a snapshot, or with nothing. `initial` is not changed. */
export function createFold(initial?: Task): TaskFold {
  return new Fold(initial);
}

/** A class because every run has one: an object with getters of its own costs as much as folding several events. */
class Fold implements TaskFold {
  #growing: Growing | undefined;

  constructor(initial: Task | undefined) {
    this.#growing = initial && grow(initial);
  }

  apply(response: StreamResponse): void {
    this.#growing = step(this.#growing, response);
  }

  task(): Task {
    if (!this.#growing) throw broken("an empty log has no task");
    return view(this.#growing);
  }

  get contextId(): string {
    return this.#growing?.contextId ?? "";
  }

  get status(): TaskStatus | undefined {
    return this.#growing?.status;
  }

  get state(): TaskState {
    return this.#growing?.status?.state ?? TaskState.UNSPECIFIED;
  }
}

function step(growing: Growing | undefined, response: StreamResponse): Growing {
  const { payload } = response;
  if (payload.case === "task") return grow(payload.value);
  if (!growing) throw broken("a log opens with a task");
  switch (payload.case) {
    case "statusUpdate":
      applyStatus(growing, payload.value);
      return growing;
    case "artifactUpdate":
      applyArtifact(growing, payload.value);
      return growing;
    case "message":
      applyMessage(growing, payload.value);
      return growing;
    case undefined:
      throw broken("an entry without a payload");
  }
}

/** The message of a status that is replaced belongs to what was said, so it joins the history. */
function applyStatus(growing: Growing, update: TaskStatusUpdateEvent): void {
  if (!update.status) throw broken("a status update without a status");
  if (growing.status?.message) growing.history.push(growing.status.message);
  growing.status = update.status;
}

/** A user's message answers the status message, if there is one, so that goes into the history first. */
function applyMessage(growing: Growing, message: Message): void {
  const { status } = growing;
  if (status?.message) {
    growing.history.push(status.message);
    growing.status = create(TaskStatusSchema, withTimestamp(status));
  }
  growing.history.push(message);
}

function withTimestamp({ state, timestamp }: TaskStatus): Pick<TaskStatus, "state" | "timestamp"> {
  return timestamp ? { state, timestamp } : { state };
}

function applyArtifact(growing: Growing, { artifact, append }: TaskArtifactUpdateEvent): void {
  if (!artifact) throw broken("an artifact update without an artifact");
  growing.places ??= new Map();
  const place = growing.places.get(artifact.artifactId);
  if (place === undefined) {
    growing.places.set(artifact.artifactId, growing.artifacts.length);
    growing.artifacts.push(new GrowingArtifact(artifact));
  } else if (append) growing.artifacts[place]?.append(artifact);
  else growing.artifacts[place] = new GrowingArtifact(artifact);
}

function grow(task: Task): Growing {
  return {
    id: task.id,
    contextId: task.contextId,
    metadata: task.metadata,
    status: task.status,
    history: [...task.history],
    artifacts: task.artifacts.map((artifact) => new GrowingArtifact(artifact)),
    places: placesOf(task.artifacts),
  };
}

function placesOf(artifacts: readonly Artifact[]): Map<string, number> | undefined {
  if (artifacts.length === 0) return undefined;
  return new Map(artifacts.map(({ artifactId }, place) => [artifactId, place]));
}

function view({ id, contextId, status, metadata, history, artifacts }: Growing): Task {
  const task: Task = {
    $typeName: "lf.a2a.v1.Task",
    id,
    contextId,
    artifacts: artifacts.map((growing) => growing.artifact()),
    history: history.slice(),
  };
  if (status) task.status = status;
  if (metadata) task.metadata = metadata;
  return task;
}

/** A log that the run engine wrote never gets here: this is damage, and the cause is for the operator. */
function broken(what: string): A2AError {
  return A2AError.from(new Error(`broken task log: ${what}`));
}
