import { create, equals } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type StreamResponse,
  type Task,
  TaskSchema,
  TaskState,
} from "../../../src/protocol/schema.js";
import type {
  ExpiryRule,
  ListQuery,
  MessageKey,
  MessageRecord,
  Scope,
} from "../../../src/stores/task-store.js";

/** One task of the model: its log, and nothing that is derived from it. */
interface ModelTask {
  readonly scope: Scope;
  readonly id: string;
  readonly log: StreamResponse[];
}

interface ModelKey {
  readonly scope: Scope;
  readonly messageId: string;
  readonly recordedMs: number;
  readonly record: MessageRecord;
}

const same = (a: Scope, b: Scope) => a.tenant === b.tenant && a.owner === b.owner;

/** The whole fold again, written as plainly as possible and over copies. */
export function foldPlainly(log: readonly StreamResponse[]): Task {
  const task = create(TaskSchema);
  for (const { payload } of log) {
    switch (payload.case) {
      case "task":
        Object.assign(task, create(TaskSchema, structuredClone(payload.value)));
        break;
      case "statusUpdate":
        if (task.status?.message) task.history.push(task.status.message);
        if (payload.value.status) task.status = structuredClone(payload.value.status);
        break;
      case "message":
        if (task.status?.message) task.history.push(task.status.message);
        if (task.status) delete task.status.message;
        task.history.push(structuredClone(payload.value));
        break;
      case "artifactUpdate":
        joinPlainly(
          task,
          structuredClone(payload.value.artifact) ?? create(ArtifactSchema),
          payload.value.append,
        );
        break;
    }
  }
  return task;
}

function joinPlainly(task: Task, artifact: Artifact, append: boolean): void {
  const index = task.artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const known = task.artifacts[index];
  if (!known) {
    task.artifacts.push(artifact);
  } else if (append) {
    known.parts.push(...artifact.parts);
    if (artifact.metadata) known.metadata = { ...known.metadata, ...artifact.metadata };
  } else {
    task.artifacts[index] = artifact;
  }
}

const statusMs = (task: Task) =>
  Number(task.status?.timestamp?.seconds ?? 0n) * 1000 + (task.status?.timestamp?.nanos ?? 0) / 1e6;
const stateOf = (task: Task) => task.status?.state ?? TaskState.UNSPECIFIED;

/** What a task store is, with no thought for speed or space. */
export function createModel() {
  let tasks: ModelTask[] = [];
  let keys: ModelKey[] = [];

  const find = (scope: Scope, id: string) => tasks.find((task) => same(task.scope, scope) && task.id === id);
  const findKey = (scope: Scope, messageId: string) =>
    keys.find((key) => same(key.scope, scope) && key.messageId === messageId);
  const folded = () => tasks.map((task) => ({ ...task, task: foldPlainly(task.log) }));
  const newestFirst = (a: { id: string; task: Task }, b: { id: string; task: Task }) =>
    statusMs(b.task) - statusMs(a.task) || (a.id < b.id ? 1 : -1);

  return {
    log: (scope: Scope, id: string): readonly StreamResponse[] => find(scope, id)?.log ?? [],
    append(
      at: { scope: Scope; id: string; seq: number; key: MessageKey | undefined; nowMs: number },
      log: readonly StreamResponse[],
    ) {
      const { scope, id, seq, key, nowMs } = at;
      if (key && findKey(scope, key.messageId)) return { kind: "conflict", on: "message" };
      const known = find(scope, id);
      if ((known?.log.length ?? 0) !== seq) return { kind: "conflict", on: "seq" };
      if (known) known.log.push(...log);
      else tasks.push({ scope, id, log: [...log] });
      if (key) {
        const record: MessageRecord = { kind: "task", digest: key.digest, taskId: id };
        keys.push({ scope, messageId: key.messageId, recordedMs: nowMs, record });
      }
      return { kind: "committed" };
    },
    answer(scope: Scope, { messageId, digest }: MessageKey, answer: Message, recordedMs: number) {
      if (findKey(scope, messageId)) return { kind: "conflict", on: "message" };
      keys.push({ scope, messageId, recordedMs, record: { kind: "answer", digest, answer } });
      return { kind: "committed" };
    },
    byMessage: (scope: Scope, messageId: string) => findKey(scope, messageId)?.record,
    list(scope: Scope, query: Omit<ListQuery, "after" | "pageSize">) {
      return folded()
        .filter((each) => same(each.scope, scope))
        .filter(({ task }) => query.contextId === undefined || task.contextId === query.contextId)
        .filter(({ task }) => query.state === undefined || stateOf(task) === query.state)
        .filter(({ task }) => query.statusAfterMs === undefined || statusMs(task) >= query.statusAfterMs)
        .sort(newestFirst)
        .map(({ task }) => (query.artifacts ? task : create(TaskSchema, { ...task, artifacts: [] })));
    },
    inStates(scope: Scope, contextId: string, states: readonly TaskState[]) {
      return folded()
        .filter((each) => same(each.scope, scope) && each.task.contextId === contextId)
        .filter(({ task }) => states.includes(stateOf(task)))
        .sort(newestFirst)
        .map(({ id }) => id);
    },
    unfinished() {
      return folded()
        .filter(({ task }) => [TaskState.SUBMITTED, TaskState.WORKING].includes(stateOf(task)))
        .map(({ scope, id }) => ({ scope, taskId: id }));
    },
    countByState() {
      const counts = new Map<TaskState, number>();
      for (const { task } of folded()) counts.set(stateOf(task), (counts.get(stateOf(task)) ?? 0) + 1);
      return counts;
    },
    /** Without a limit: which of several due tasks go first is the store's affair. */
    expire({ tenant, exceptTenants = [], states, beforeMs }: Omit<ExpiryRule, "limit">): number {
      const due = folded().filter(
        ({ scope, task }) =>
          (tenant === undefined || scope.tenant === tenant) &&
          !exceptTenants.includes(scope.tenant) &&
          states.includes(stateOf(task)) &&
          statusMs(task) < beforeMs,
      );
      for (const { scope, id } of due) {
        tasks = tasks.filter((task) => !(same(task.scope, scope) && task.id === id));
        keys = keys.filter(
          (key) => !(same(key.scope, scope) && key.record.kind === "task" && key.record.taskId === id),
        );
      }
      return due.length;
    },
    expireKeys(beforeMs: number): number {
      const before = keys.length;
      keys = keys.filter((key) => key.recordedMs >= beforeMs);
      return before - keys.length;
    },
  };
}

/** The same task or answer, whatever object it is. */
export function sameTask(a: Task | undefined, b: Task | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equals(TaskSchema, a, b);
}

export function sameRecord(a: MessageRecord | undefined, b: MessageRecord | undefined): boolean {
  if (a?.kind !== "answer" || b?.kind !== "answer") return JSON.stringify(a) === JSON.stringify(b);
  return a.digest === b.digest && equals(MessageSchema, a.answer, b.answer);
}
