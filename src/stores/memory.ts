import { randomBytes } from "node:crypto";
import { TaskState } from "../protocol/schema.js";
import { commit, inStates, list, newestFirst, type Shelf, type StoredTask } from "./memory-shelf.js";
import type { ExpiryRule, FullTaskStore, Scope, UnfinishedTask } from "./task-store.js";
import { storeClosed } from "./write.js";

/** What a memory store can be told. */
export interface MemoryStoreOptions {
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
}

const WAITING: readonly TaskState[] = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];
const RUNNING: readonly TaskState[] = [TaskState.SUBMITTED, TaskState.WORKING];

/**
 * Keeps tasks in the process's memory, for development and tests: nothing survives a restart, nothing is
 * freed before it expires, and a list looks at every task of its scope.
 */
export function createMemoryStore({ now = Date.now }: MemoryStoreOptions = {}): FullTaskStore {
  const shelves = new Map<string, Shelf>();
  let closed = false;

  function find(scope: Scope): Shelf | undefined {
    if (closed) throw storeClosed();
    return shelves.get(keyOf(scope));
  }

  function findOrAdd(scope: Scope): Shelf {
    const shelf = find(scope) ?? { scope: { ...scope }, tasks: new Map(), records: new Map() };
    shelves.set(keyOf(scope), shelf);
    return shelf;
  }

  function all(): readonly Shelf[] {
    if (closed) throw storeClosed();
    return [...shelves.values()];
  }

  return {
    secret: randomBytes(32),
    async commit(scope, taskId, write) {
      return commit(findOrAdd(scope), taskId, write, now());
    },
    async get(scope, taskId) {
      const stored = find(scope)?.tasks.get(taskId);
      return stored && { task: stored.fold.task(), seq: stored.entries.length, number: stored.number };
    },
    async entries(scope, taskId, after, limit) {
      const start = Math.max(after, 0);
      return (
        find(scope)
          ?.tasks.get(taskId)
          ?.entries.slice(start, start + limit) ?? []
      );
    },
    async list(scope, query) {
      return list(find(scope), query);
    },
    async byMessage(scope, messageId) {
      return find(scope)?.records.get(messageId)?.record;
    },
    async waiting(scope, contextId, limit) {
      return inStates(find(scope), contextId, WAITING, limit);
    },
    async running(scope, contextId, limit) {
      return inStates(find(scope), contextId, RUNNING, limit);
    },
    async unfinished(after, limit) {
      return unfinished(all(), after, limit);
    },
    async expire(rule) {
      return expire(all(), rule);
    },
    async expireKeys(beforeMs, limit) {
      return expireKeys(all(), beforeMs, limit);
    },
    async countByState() {
      return countByState(all());
    },
    async close() {
      closed = true;
      shelves.clear();
    },
  };
}

function keyOf({ tenant, owner }: Scope): string {
  return `${tenant.length}:${tenant}${owner}`;
}

interface Placed {
  readonly shelf: Shelf;
  readonly stored: StoredTask;
}

function everyTask(shelves: readonly Shelf[]): readonly Placed[] {
  return shelves.flatMap((shelf) => [...shelf.tasks.values()].map((stored) => ({ shelf, stored })));
}

function unfinished(
  shelves: readonly Shelf[],
  after: UnfinishedTask | undefined,
  limit: number,
): readonly UnfinishedTask[] {
  const placeOf = ({ scope, taskId }: UnfinishedTask) => `${keyOf(scope)}\n${taskId}`;
  return everyTask(shelves)
    .filter(({ stored }) => RUNNING.includes(stored.state))
    .map(({ shelf, stored }) => ({ scope: shelf.scope, taskId: stored.id }))
    .filter((task) => after === undefined || placeOf(task) > placeOf(after))
    .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
    .slice(0, limit);
}

function expire(shelves: readonly Shelf[], rule: ExpiryRule): number {
  const due = everyTask(shelves)
    .filter(({ shelf }) => rule.tenant === undefined || shelf.scope.tenant === rule.tenant)
    .filter(({ shelf }) => !rule.exceptTenants?.includes(shelf.scope.tenant))
    .filter(({ stored }) => rule.states.includes(stored.state) && stored.statusMs < rule.beforeMs)
    .sort((a, b) => newestFirst(b.stored, a.stored))
    .slice(0, rule.limit);
  for (const { shelf, stored } of due) {
    shelf.tasks.delete(stored.id);
    for (const [messageId, { record }] of shelf.records) {
      if (record.kind === "task" && record.taskId === stored.id) shelf.records.delete(messageId);
    }
  }
  return due.length;
}

function expireKeys(shelves: readonly Shelf[], beforeMs: number, limit: number): number {
  const due = shelves
    .flatMap(({ records }) =>
      [...records].map(([messageId, { recordedMs }]) => ({ records, messageId, recordedMs })),
    )
    .filter(({ recordedMs }) => recordedMs < beforeMs)
    .sort((a, b) => a.recordedMs - b.recordedMs)
    .slice(0, limit);
  for (const { records, messageId } of due) records.delete(messageId);
  return due.length;
}

function countByState(shelves: readonly Shelf[]): ReadonlyMap<TaskState, number> {
  const counts = new Map<TaskState, number>();
  for (const { stored } of everyTask(shelves)) {
    counts.set(stored.state, (counts.get(stored.state) ?? 0) + 1);
  }
  return counts;
}
