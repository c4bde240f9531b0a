import { resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { TaskState } from "../../protocol/schema.js";
import type { FullTaskStore, Scope } from "../task-store.js";
import { storeClosed } from "../write.js";
import { createCheckpoints } from "./checkpoints.js";
import { createCounters } from "./counters.js";
import { changedBytes, encodeWrite } from "./encode.js";
import { createExpiry } from "./expiry.js";
import { createMessageKeys } from "./keys.js";
import { createLister } from "./list.js";
import { openDatabase } from "./open.js";
import type { Durability } from "./open-error.js";
import { createWriteQueue } from "./queue.js";
import { createReader } from "./reader.js";
import { createRecentTasks } from "./recent.js";
import { createScopes } from "./scopes.js";
import { createUpkeep } from "./upkeep.js";
import { createWriter } from "./writer.js";

/** How a SQLite store is opened. */
export interface SqliteStoreOptions {
  /** The database file. It is made, with its directory, when there is none. */
  readonly path: string;
  /** Default `normal`. */
  readonly durability?: Durability;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
}

/** Changed by the expiry of a message key: it lies in three trees, in one of them anywhere. */
const KEY_BYTES = 4096;
const WAITING: readonly TaskState[] = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];
const RUNNING: readonly TaskState[] = [TaskState.SUBMITTED, TaskState.WORKING];

/**
 * Keeps tasks in a SQLite database that belongs to this process alone. The writes of two turns of the event loop share
 * one transaction; reads see what was committed. Throws StoreOpenError.
 */
export function createSqliteStore(options: SqliteStoreOptions): FullTaskStore {
  const { path, durability = "normal", now = Date.now } = options;
  const db = openDatabase(path, durability);
  let closing: Promise<void> | undefined;
  const parts = createParts({ db, path, now, isClosed: () => closing !== undefined });
  const { scopes, reader, lister, keys, upkeep, expire, queue, checkpoints } = parts;

  function whenOpen(): void {
    if (closing !== undefined) throw storeClosed();
  }

  async function close(): Promise<void> {
    queue.flush();
    await checkpoints.close();
    queue.hold(false); // an expiry that waits ends
    closeDatabase(db);
  }

  /** Reads in a scope; what never had anything reads as `nothing`. */
  async function read<Result>(
    scope: Scope,
    nothing: Result,
    body: (scope: number) => Result,
  ): Promise<Result> {
    whenOpen();
    const number = scopes.find(scope);
    return number === undefined ? nothing : body(number);
  }

  return {
    secret: readSecret(db),
    async commit(scope, taskId, write) {
      whenOpen();
      return await queue.add(encodeWrite(scope, taskId, write));
    },
    get: (scope, id) => read(scope, undefined, (number) => reader.snapshot(number, id)),
    entries: (scope, id, after, limit) =>
      read(scope, [], (number) => reader.entries(number, id, after, limit)),
    list: (scope, query) => read(scope, { tasks: [], total: 0 }, (number) => lister.page(number, query)),
    byMessage: (scope, messageId) => read(scope, undefined, (number) => keys.find(number, messageId)),
    waiting: (scope, context, limit) =>
      read(scope, [], (number) => lister.inStates(number, context, WAITING, limit)),
    running: (scope, context, limit) =>
      read(scope, [], (number) => lister.inStates(number, context, RUNNING, limit)),
    async unfinished(after, limit) {
      whenOpen();
      return upkeep.unfinished(after, limit);
    },
    async expire(rule) {
      whenOpen();
      return expire(rule);
    },
    async expireKeys(beforeMs, limit) {
      whenOpen();
      await queue.free();
      whenOpen();
      const expired = keys.expire(beforeMs, limit);
      checkpoints.wrote(expired * KEY_BYTES);
      return expired;
    },
    async countByState() {
      whenOpen();
      return upkeep.countByState();
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

interface PartsOptions {
  readonly db: Database;
  readonly path: string;
  readonly now: () => number;
  readonly isClosed: () => boolean;
}

function createParts({ db, path, now, isClosed }: PartsOptions) {
  const scopes = createScopes(db);
  const counters = createCounters(db);
  const keys = createMessageKeys(db, now);
  const recent = createRecentTasks();
  const reader = createReader(db, recent);
  const write = createWriter({ db, scopes, counters, keys, recent });
  const queue = createWriteQueue((writes) => {
    const results = write(writes);
    for (const one of writes) checkpoints.wrote(changedBytes(one));
    return results;
  });
  const checkpoints = createCheckpoints({ db, path: resolve(path), hold: queue.hold });
  return {
    scopes,
    keys,
    reader,
    lister: createLister({ db, reader, counters }),
    upkeep: createUpkeep({ db, scopes, counters }),
    expire: createExpiry({ db, counters, recent, isClosed, wrote: checkpoints.wrote, free: queue.free }),
    queue,
    checkpoints,
  };
}

function readSecret(db: Database): Uint8Array {
  return db
    .prepare<[], Uint8Array>("SELECT value FROM meta WHERE key = 'secret'")
    .pluck()
    .get() as Uint8Array;
}

/** Leaves one file, without a log beside it. */
function closeDatabase(db: Database): void {
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
  } finally {
    db.close();
  }
}
