import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Entry } from "../../src/protocol/entry.js";
import { WireEvent } from "../../src/protocol/event.js";
import {
  type ArtifactSchema,
  MessageSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusUpdateEventSchema,
} from "../../src/protocol/schema.js";
import { createFold } from "../../src/protocol/task.js";
import type { TaskWrite } from "../../src/stores/task-store.js";

const respond = (payload: StreamResponse["payload"]): StreamResponse =>
  create(StreamResponseSchema, { payload });

const timestamp = (ms: number) => ({
  seconds: BigInt(Math.floor(ms / 1000)),
  nanos: (((ms % 1000) + 1000) % 1000) * 1_000_000,
});

/** What opens a log: the task, SUBMITTED unless told otherwise. */
export function opening(task: MessageInitShape<typeof TaskSchema>, statusMs = 0): StreamResponse {
  const status = { state: TaskState.SUBMITTED, timestamp: timestamp(statusMs) };
  return respond({ case: "task", value: create(TaskSchema, { status, ...task } as typeof task) });
}

/** A status update; `said` is the text and the id of its message. */
export function status(state: TaskState, statusMs = 0, said?: string): StreamResponse {
  const message = { messageId: said ?? "", parts: [text(said ?? "")] };
  return respond({
    case: "statusUpdate",
    value: create(TaskStatusUpdateEventSchema, {
      status: { state, timestamp: timestamp(statusMs), ...(said !== undefined && { message }) },
    }),
  });
}

/** An artifact update that appends. */
export function chunk(artifact: MessageInitShape<typeof ArtifactSchema>): StreamResponse {
  const value = create(TaskArtifactUpdateEventSchema, { append: true, artifact });
  return respond({ case: "artifactUpdate", value });
}

/** An artifact update that puts the artifact in the place of the one before. */
export function replacement(artifact: MessageInitShape<typeof ArtifactSchema>): StreamResponse {
  return respond({ case: "artifactUpdate", value: create(TaskArtifactUpdateEventSchema, { artifact }) });
}

/** A user's message. */
export function userMessage(messageId: string): StreamResponse {
  return respond({ case: "message", value: create(MessageSchema, { messageId, parts: [text(messageId)] }) });
}

/** A text part. */
export function text(value: string) {
  return { content: { case: "text", value } } as const;
}

/** What a write is to be beyond its entries. */
export type WriteOptions = Omit<Partial<TaskWrite>, "snapshot"> & { readonly snapshot?: boolean };

/** Writes a task's log as the run engine does: numbers the entries, folds the task, makes the writes. */
export interface LogWriter {
  /** The next write; it counts as written. */
  write(responses: readonly StreamResponse[], options?: WriteOptions): TaskWrite;
  /** The task after all writes so far. */
  task(): Task;
  readonly seq: number;
  readonly number: number;
}

/** Starts a log, or goes on with one. */
export function createLogWriter(from?: { task: Task; seq: number; number: number }): LogWriter {
  const fold = createFold(from?.task);
  let seq = from?.seq ?? 0;
  let number = from?.number ?? 0;

  function toEntry(response: StreamResponse): Entry {
    fold.apply(response);
    seq += 1;
    if (response.payload.case === "message") return { seq, event: WireEvent.of(response, 0) };
    number += 1;
    return { seq, event: WireEvent.of(response, number) };
  }

  return {
    write(responses, { snapshot = false, ...options } = {}) {
      const expectedSeq = seq;
      const entries = responses.map(toEntry);
      const { contextId, status } = fold;
      const kept = snapshot ? { snapshot: fold.task() } : {};
      return { kind: "task", expectedSeq, entries, contextId, status, ...kept, ...options };
    },
    task: () => fold.task(),
    get seq() {
      return seq;
    },
    get number() {
      return number;
    },
  };
}
