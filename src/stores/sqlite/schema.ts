import type { Database } from "better-sqlite3";

/**
 * Steps from an empty file to the present schema. A step that was released is never changed; what comes
 * later is appended.
 *
 * Every tree that a commit touches costs it a page, so there are few of them, and what is keyed by ids of
 * the gateway grows at its end:
 * - `tasks`: a row changes when anything but an artifact does. `number` names the task in other tables;
 *   `plain_seq` is the seq of its last entry that is no artifact update.
 * - `entries`: those of a commit share a row, whose `seq` and `number` are those of the last (`pack.ts`); `count` is
 *   how many they are, `artifact` is 1 when all are artifact updates.
 * - `snapshots`: two halves of one protobuf Task, so that a list without artifacts need not read them.
 * - `scope_counts`: scope 0 counts all scopes.
 * - `message_keys`: of a task (by number and id) or of an answer. Message ids come in no order, so they are in an
 *   index of little more than themselves. No `digest`: the message id is the digest.
 * - `garbage`: deleted tasks whose entries are still to be cleared away.
 */
const STEPS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('secret', randomblob(32));

  CREATE TABLE scopes (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (tenant, owner)
  ) STRICT;

  CREATE TABLE tasks (
    scope INTEGER NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    context TEXT NOT NULL,
    state INTEGER NOT NULL,
    status_ms INTEGER NOT NULL,
    plain_seq INTEGER NOT NULL,
    PRIMARY KEY (scope, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tasks_by_state ON tasks (scope, state, status_ms, id);
  CREATE INDEX tasks_by_context ON tasks (scope, context, state, status_ms, id);
  CREATE INDEX tasks_by_age ON tasks (state, tenant, status_ms);

  CREATE TABLE entries (
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    number INTEGER NOT NULL,
    artifact INTEGER NOT NULL,
    message_id TEXT,
    event BLOB NOT NULL,
    PRIMARY KEY (task, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE snapshots (
    task INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    number INTEGER NOT NULL,
    head BLOB NOT NULL,
    artifacts BLOB NOT NULL
  ) STRICT;

  CREATE TABLE message_keys (
    number INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    digest TEXT,
    recorded_ms INTEGER NOT NULL,
    task INTEGER,
    task_id TEXT,
    answer BLOB,
    UNIQUE (scope, message_id)
  ) STRICT;
  CREATE INDEX message_keys_by_age ON message_keys (recorded_ms);

  CREATE TABLE scope_counts (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE context_counts (
    scope INTEGER NOT NULL,
    context TEXT NOT NULL,
    state INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (scope, context, state)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE garbage (task INTEGER PRIMARY KEY, scope INTEGER NOT NULL) STRICT;
  `,
  "ALTER TABLE entries ADD COLUMN count INTEGER NOT NULL DEFAULT 1",
];

/** What a file turned out to be, other than a store of this schema. */
export type SchemaMismatch =
  | { readonly kind: "foreign" }
  | { readonly kind: "newer"; readonly version: number };

/** The newest schema that this program knows. */
export const SCHEMA_VERSION = STEPS.length;

/** Brings a database to the present schema, all steps or none. A file that is not ours or newer is left as it is. */
export function migrate(db: Database): SchemaMismatch | undefined {
  return db
    .transaction((): SchemaMismatch | undefined => {
      const version = readVersion(db);
      if (version === undefined) return { kind: "foreign" };
      if (version > SCHEMA_VERSION) return { kind: "newer", version };
      for (const step of STEPS.slice(version)) db.exec(step);
      db.prepare("UPDATE schema_version SET version = ?").run(SCHEMA_VERSION);
      return undefined;
    })
    .exclusive();
}

/** Version of the schema, 0 for an empty file (which gets its version table), undefined for someone else's. */
function readVersion(db: Database): number | undefined {
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema").pluck().all();
  if (tables.includes("schema_version")) {
    return db.prepare<[], number>("SELECT version FROM schema_version").pluck().get();
  }
  if (tables.length > 0) return undefined;
  db.exec(
    "CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT; INSERT INTO schema_version VALUES (0);",
  );
  return 0;
}
