import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Sqlite, { type Database } from "better-sqlite3";
import { type Durability, StoreOpenError } from "./open-error.js";
import { migrate, SCHEMA_VERSION, type SchemaMismatch } from "./schema.js";

/** Long enough for a process that is just ending to let go of the file. */
const LOCK_WAIT_MS = 250;
const CACHE_KIB = 16 * 1024;

/** How long, at most, it takes to try again. */
const NEXT_TRY_MS = 40;

/**
 * Opens the database at `path` for this process alone, without checkpoints, and creates it, readable to its owner only, with its
 * directory when there is none. Throws StoreOpenError.
 */
export function openDatabase(path: string, durability: Durability): Database {
  const lastTryMs = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return tryToOpen(path, durability);
    } catch (thrown) {
      if (thrown instanceof StoreOpenError) throw thrown;
      if (!isBusy(thrown) || performance.now() > lastTryMs) throw toOpenError(path, thrown);
      sleep(Math.random() * NEXT_TRY_MS);
    }
  }
}

/**
 * Does not wait for locks: who waits for the exclusive one keeps a shared one, so that of two stores that are opened at
 * the same time neither would get it.
 */
function tryToOpen(path: string, durability: Durability): Database {
  let db: Database | undefined;
  try {
    createFile(path);
    db = new Sqlite(path, { timeout: 0 });
    configure(db, durability);
    const mismatch = migrate(db);
    if (mismatch) throw new StoreOpenError(describeMismatch(path, mismatch));
    shareInside(db);
    db.pragma(`busy_timeout = ${LOCK_WAIT_MS}`);
    return db;
  } catch (thrown) {
    db?.close();
    throw thrown;
  }
}

function isBusy(thrown: unknown): boolean {
  return (thrown as NodeJS.ErrnoException).code?.startsWith("SQLITE_BUSY") === true;
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, ms);
}

/** The write-ahead log takes on the file's mode. */
function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
}

/**
 * The first transaction then takes the exclusive lock, which another store's process does not let it have. The log
 * is opened before, by reading: opened under that lock, it would be for one connection only.
 */
function configure(db: Database, durability: Durability): void {
  db.pragma("journal_mode = WAL");
  db.pragma("user_version");
  db.pragma("locking_mode = EXCLUSIVE");
  db.pragma(`synchronous = ${durability === "full" ? "FULL" : "NORMAL"}`);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.pragma("wal_autocheckpoint = 0");
  db.pragma("temp_store = MEMORY");
}

/** Keeps a shared lock only, so that this process can have a second connection; no other store gets its exclusive one. */
function shareInside(db: Database): void {
  db.pragma("locking_mode = NORMAL");
  db.exec("BEGIN IMMEDIATE; COMMIT");
}

function describeMismatch(path: string, mismatch: SchemaMismatch): string {
  switch (mismatch.kind) {
    case "foreign":
      return `The store ${path} holds some other program's database.`;
    case "newer":
      return `The store ${path} was written by a newer version (schema ${mismatch.version}; this one knows ${SCHEMA_VERSION}).`;
  }
}

/** What SQLite and the file system report, by code. */
const CAUSES: ReadonlyMap<string, string> = new Map([
  ["SQLITE_BUSY", "is in use by another process"],
  ["SQLITE_NOTADB", "is not a database"],
  ["SQLITE_CORRUPT", "is damaged"],
  ["SQLITE_FULL", "cannot be opened: the disk is full"],
  ["SQLITE_READONLY", "cannot be written to"],
  ["EACCES", "cannot be opened: permission denied"],
  ["EROFS", "cannot be opened: the file system is read-only"],
  ["EISDIR", "is a directory"],
  ["ENOTDIR", "cannot be opened: a part of its path is not a directory"],
  ["EEXIST", "cannot be opened: a part of its path is not a directory"],
]);

function toOpenError(path: string, thrown: unknown): StoreOpenError {
  const cause = thrown as NodeJS.ErrnoException;
  if (cause.code === "ERR_DLOPEN_FAILED" || cause.message.includes("bindings file")) {
    return new StoreOpenError("SQLite's native binding is missing: run npm rebuild better-sqlite3", {
      cause,
    });
  }
  const code = cause.code ?? "unknown error";
  const known = CAUSES.get(code) ?? CAUSES.get(code.split("_").slice(0, 2).join("_"));
  return new StoreOpenError(`The store ${path} ${known ?? `cannot be opened: ${code}`}.`, { cause });
}
