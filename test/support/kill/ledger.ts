import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";

/** A task in canonical ProtoJSON, as far as the ledger reads it. */
export interface TaskJson {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string; readonly message?: MessageJson };
  readonly artifacts?: readonly ArtifactJson[];
  readonly history?: readonly MessageJson[];
}

export interface MessageJson {
  readonly messageId: string;
  readonly parts?: readonly { readonly text?: string }[];
}

export interface ArtifactJson {
  readonly artifactId: string;
  readonly parts?: readonly { readonly text?: string }[];
}

/** A StreamResponse in canonical ProtoJSON. */
export interface EventJson {
  readonly task?: TaskJson;
  readonly message?: MessageJson;
  readonly statusUpdate?: { readonly taskId: string; readonly status: TaskJson["status"] };
  readonly artifactUpdate?: {
    readonly taskId: string;
    readonly artifact: ArtifactJson;
    readonly append?: boolean;
  };
}

/** What clients were told of one task. */
export interface KnownTask {
  readonly tenant: string;
  readonly id: string;
  readonly contextId: string;
  /** Wire events by their numbers. */
  readonly events: Map<number, EventJson>;
  /** Ids of the messages that were accepted for it, in order. */
  readonly accepted: string[];
  state: string;
  /** True while a client has asked for something that may change it, and has no answer. */
  unanswered: boolean;
}

/** What clients were told, so that it can be held against what there is after a crash. */
export interface Ledger {
  readonly tasks: ReadonlyMap<string, KnownTask>;
  /** An answer that shows a task. */
  sawTask(tenant: string, task: TaskJson): KnownTask;
  /** The n-th wire event of a task. One that was seen before must be the same. */
  sawEvent(tenant: string, number: number, event: EventJson): void;
}

export function createLedger(): Ledger {
  const tasks = new Map<string, KnownTask>();

  function sawTask(tenant: string, task: TaskJson): KnownTask {
    const known = tasks.get(task.id) ?? {
      tenant,
      id: task.id,
      contextId: task.contextId,
      events: new Map(),
      accepted: [],
      state: "",
      unanswered: false,
    };
    tasks.set(task.id, known);
    known.state = task.status.state;
    return known;
  }

  return {
    tasks,
    sawTask,
    sawEvent(tenant, number, event) {
      if (event.task) sawTask(tenant, event.task);
      const id = event.task?.id ?? event.statusUpdate?.taskId ?? event.artifactUpdate?.taskId;
      const known = tasks.get(String(id));
      assert.ok(known, `an event of a task that was never shown: ${JSON.stringify(event)}`);
      if (event.statusUpdate) known.state = event.statusUpdate.status.state;
      if (event.task && number > 1) return; // the task as it was then, not the event of that number
      const before = known.events.get(number);
      if (before) assert.deepEqual(event, before, `event ${number} of ${id} has changed`);
      known.events.set(number, event);
    },
  };
}

const TERMINAL = new Set(["COMPLETED", "FAILED", "CANCELED", "REJECTED"].map((name) => `TASK_STATE_${name}`));
const OPEN = new Set(["SUBMITTED", "WORKING"].map((name) => `TASK_STATE_${name}`));

export const isTerminal = (state: string): boolean => TERMINAL.has(state);
export const isOpen = (state: string): boolean => OPEN.has(state);

export const RESTARTED = "The gateway was restarted while this task was running.";

/** What is known of a task against the task and its whole log after the crash; `log` is from event 1 on. */
export function checkTask(known: KnownTask, task: TaskJson, log: readonly EventJson[]): void {
  const label = `task ${known.id} of tenant "${known.tenant}", last seen ${known.state}`;
  for (const [number, event] of known.events) {
    assert.deepEqual(log[number - 1], event, `${label}: event ${number} is not what a client saw`);
  }
  checkState(known, task, label);
  checkFold(task, log, label);
  checkHistory(known, task, label);
}

function checkState(known: KnownTask, task: TaskJson, label: string): void {
  const { state, message } = task.status;
  if (isTerminal(known.state)) assert.equal(state, known.state, label);
  if (known.state === "TASK_STATE_INPUT_REQUIRED" && !known.unanswered) {
    assert.equal(state, known.state, `${label}: it no longer waits`);
  }
  if (state !== "TASK_STATE_FAILED") return;
  assert.equal(message?.parts?.[0]?.text, RESTARTED, `${label}: it failed for another reason`);
  assert.equal(known.tenant, "", `${label}: its agent would have taken it up`);
}

/** The artifacts are the pieces of the log in their order, and no piece is missing or there twice. */
function checkFold(task: TaskJson, log: readonly EventJson[], label: string): void {
  const pieces = new Map<string, string[]>();
  let status: TaskJson["status"] | undefined = log[0]?.task?.status;
  for (const { statusUpdate, artifactUpdate } of log) {
    status = statusUpdate?.status ?? status;
    if (artifactUpdate === undefined) continue;
    const { artifactId, parts = [] } = artifactUpdate.artifact;
    const before = artifactUpdate.append ? (pieces.get(artifactId) ?? []) : [];
    pieces.set(artifactId, [...before, ...parts.map(({ text = "" }) => text)]);
  }
  assert.deepEqual(task.status, status, `${label}: its status is not the last of its log`);
  const artifacts = (task.artifacts ?? []).map(({ artifactId, parts = [] }) => [
    artifactId,
    parts.map(({ text = "" }) => text),
  ]);
  assert.deepEqual(artifacts, [...pieces], `${label}: its artifacts are not those of its log`);
  for (const [id, texts] of pieces) {
    assert.deepEqual(
      texts,
      texts.map((_, index) => `${index}`),
      `${label}: artifact ${id} has a gap or a repeat`,
    );
  }
}

function checkHistory(known: KnownTask, task: TaskJson, label: string): void {
  const ids = (task.history ?? []).map(({ messageId }) => messageId);
  assert.deepEqual(
    ids.filter((id) => known.accepted.includes(id)),
    known.accepted,
    `${label}: accepted messages are missing, doubled or in another order`,
  );
}

/** A message of a user in ProtoJSON. */
export function messageJson(messageId: string, text: string, more: JsonObject = {}): JsonObject {
  return { messageId, role: "ROLE_USER", parts: [{ text }], ...more };
}
