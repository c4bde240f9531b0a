import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTick } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import { expect, it } from "vitest";
import { createCheckpoints } from "../../../src/stores/sqlite/checkpoints.js";
import { openDatabase } from "../../../src/stores/sqlite/open.js";
import { createTempDir } from "../../support/temp-dir.js";

const dir = createTempDir();
const PAGE = 4096;
/** Small, so that a test need not write much. */
const LIMITS = { lookBytes: 0, copy: 40, restart: 160, held: 10, most: 80 };
const WRITES = 3000;

/** `threadPath`: what the thread is to open, if not the log's own file. */
function openLog(name: string, threadPath?: string) {
  const path = join(dir, name, "store.db");
  const db = openDatabase(path, "normal");
  db.exec("CREATE TABLE numbers (number INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  const insert = db.prepare("INSERT INTO numbers (text) VALUES (?)");
  const writers = { held: false, holds: 0 };
  const hold = (held: boolean) => {
    if (held && !writers.held) writers.holds += 1;
    writers.held = held;
  };
  const checkpoints = createCheckpoints({ db, path: threadPath ?? path, hold, limits: LIMITS });

  /** As the write queue does: nothing while writers are held back. */
  async function write(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      while (writers.held) await nextTick();
      insert.run("x".repeat(1000));
      checkpoints.wrote(1);
      await nextTick();
    }
  }

  async function close(): Promise<void> {
    await checkpoints.close();
    db.close();
  }

  return { path, db, write, close, writers, logPages: () => statSync(`${path}-wal`).size / PAGE };
}

/** What is in a file that nobody has open, which only then may leave WAL mode. */
function countAlone(path: string): unknown {
  const db = new Sqlite(path);
  try {
    expect(db.pragma("journal_mode = DELETE", { simple: true })).toBe("delete");
    return db.prepare("SELECT count(*) FROM numbers").pluck().get();
  } finally {
    db.close();
  }
}

it("a log begins anew again and again while it is written to, and closing ends the thread", async () => {
  const log = openLog("bounded");
  await log.write(WRITES);
  expect(log.writers.holds).toBeGreaterThan(1);
  expect(log.logPages()).toBeLessThan(LIMITS.restart + 4 * LIMITS.most);
  await log.close();
  expect(existsSync(`${log.path}-wal`)).toBe(false);
  expect(existsSync(`${log.path}-shm`)).toBe(false);
  expect(countAlone(log.path)).toBe(WRITES);
});

it("some other program that reads the file lets the log grow and keeps no writer waiting", async () => {
  const log = openLog("read");
  await log.write(1);
  const reader = new Sqlite(log.path);
  const reading = reader.prepare("SELECT number FROM numbers").iterate();
  reading.next();
  await log.write(WRITES);
  expect(log.logPages()).toBeGreaterThan(WRITES);
  reading.return?.();
  reader.close();
  const before = log.writers.holds;
  while (log.writers.holds < before + 2) await log.write(1);
  await log.close();
});

it("a thread that fails leaves checkpoints to the store's own connection", async () => {
  const log = openLog("fails", join(dir, "gone.db"));
  await log.write(LIMITS.copy);
  const ownCheckpoint = () => log.db.pragma("wal_autocheckpoint", { simple: true });
  while (ownCheckpoint() === 0) await log.write(1);
  await log.write(WRITES);
  expect(log.writers.held).toBe(false);
  expect(log.logPages()).toBeLessThan(LIMITS.restart);
  await log.close();
  expect(countAlone(log.path)).toBeGreaterThan(WRITES);
});
