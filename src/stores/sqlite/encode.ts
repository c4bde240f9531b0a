import { create } from "@bufbuild/protobuf";
import { encodeBinary } from "../../protocol/binary/index.js";
import { fromStored } from "../../protocol/event.js";
import { MessageSchema, type Task, TaskSchema, TaskState } from "../../protocol/schema.js";
import type { AnswerWrite, MessageKey, Scope, TaskWrite, Write } from "../task-store.js";
import { checkTaskWrite, statusMsOf } from "../write.js";
import { isArtifactUpdate, type PackedRow, packEntries } from "./pack.js";

/** A task as two halves of one protobuf message: in protobuf, one behind the other is the whole. */
export interface EncodedTask {
  readonly head: Uint8Array;
  readonly artifacts: Uint8Array;
}

/** A task write in the form of its rows. */
export interface EncodedTaskWrite {
  readonly kind: "task";
  readonly scope: Scope;
  readonly taskId: string;
  readonly expectedSeq: number;
  readonly lastSeq: number;
  readonly rows: readonly PackedRow[];
  /** Seq of the last entry that is no artifact update; undefined when there is none. */
  readonly plainSeq: number | undefined;
  readonly context: string;
  readonly state: TaskState;
  readonly statusMs: number;
  readonly snapshot: EncodedTask | undefined;
  readonly messageKey: MessageKey | undefined;
}

/** An answer write in the form of its row. */
export interface EncodedAnswerWrite {
  readonly kind: "answer";
  readonly scope: Scope;
  readonly messageKey: MessageKey;
  readonly answer: Uint8Array;
}

export type EncodedWrite = EncodedTaskWrite | EncodedAnswerWrite;

/** Turns a write into bytes: what the writer does with its objects later is not seen, and what cannot be encoded fails alone. */
export function encodeWrite(scope: Scope, taskId: string, write: Write): EncodedWrite {
  switch (write.kind) {
    case "task":
      return encodeTaskWrite(scope, taskId, write);
    case "answer":
      return encodeAnswerWrite(scope, write);
  }
}

/** Of the trees that a write touches, in about half of them a page that no other write of its transaction touches. */
const TREE_BYTES = 16 * 1024;

/** About how many bytes of the database a write changes. */
export function changedBytes(write: EncodedWrite): number {
  if (write.kind === "answer") return TREE_BYTES + write.answer.length;
  const { rows, snapshot } = write;
  const events = rows.reduce((sum, { event }) => sum + event.length, 0);
  return TREE_BYTES + events + (snapshot ? snapshot.head.length + snapshot.artifacts.length : 0);
}

function encodeTaskWrite(scope: Scope, taskId: string, write: TaskWrite): EncodedTaskWrite {
  checkTaskWrite(write);
  const { expectedSeq, contextId, status, messageKey } = write;
  const { entries } = write;
  // A log of one entry is folded as fast as a snapshot is read.
  const snapshot = expectedSeq + entries.length > 1 ? write.snapshot : undefined;
  return {
    kind: "task",
    scope,
    taskId,
    expectedSeq,
    lastSeq: expectedSeq + entries.length,
    rows: packEntries(entries),
    plainSeq: entries.findLast(({ event }) => !isArtifactUpdate(event))?.seq,
    context: contextId,
    state: status?.state ?? TaskState.UNSPECIFIED,
    statusMs: statusMsOf(status),
    snapshot: snapshot && encodeTask(snapshot),
    messageKey,
  };
}

function encodeAnswerWrite(scope: Scope, { messageKey, answer }: AnswerWrite): EncodedAnswerWrite {
  return { kind: "answer", scope, messageKey, answer: encodeBinary(MessageSchema, answer) };
}

const NOTHING = create(TaskSchema);

function encodeTask(task: Task): EncodedTask {
  return {
    head: encodeBinary(TaskSchema, { ...task, artifacts: NOTHING.artifacts }),
    artifacts: encodeBinary(TaskSchema, { ...NOTHING, artifacts: task.artifacts }),
  };
}

/** The halves as one. Without the second, the task comes without artifacts. */
export function joinTask(head: Uint8Array, artifacts: Uint8Array | null): Uint8Array {
  return artifacts?.length ? Buffer.concat([head, artifacts]) : head;
}

export function decodeTask(binary: Uint8Array): Task {
  return fromStored(TaskSchema, binary);
}
