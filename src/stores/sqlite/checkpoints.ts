import type { Worker } from "node:worker_threads";
import type { Database } from "better-sqlite3";
import { startThread } from "../../threads.js";
import type { CheckpointRequest } from "./checkpoint-thread.js";

/** When checkpoints do what. In pages of the log, which are 4 KiB, but for the first. */
interface CheckpointLimits {
  /** Bytes that are written between two looks at the log, which take microseconds. */
  readonly lookBytes: number;
  /** So many are copied in one go: hot pages are then copied once for many commits. */
  readonly copy: number;
  /** With so many the log begins anew. Writers wait once for each time, so they are many. */
  readonly restart: number;
  /** So few are copied while writers wait. */
  readonly held: number;
  /** When the disk is slower than the writers, they wait with so many that are not copied yet. */
  readonly most: number;
}

const LIMITS: CheckpointLimits = {
  lookBytes: 1024 * 1024,
  copy: 4000,
  restart: 32_000,
  held: 200,
  most: 8000,
};
/** Copies at the log's end that may leave more than `held` behind before writers wait for one all the same. */
const FREE_COPIES = 2;

/**
 * Has the write-ahead log copied into the database file by a thread of its own, since the disk takes longer for
 * that than a thousand calls. The log can begin anew only when all of it was copied, so for the last, short copy
 * writers are held back; nothing else waits.
 */
export interface Checkpoints {
  /** To be told after a transaction about how many bytes it changed. Never throws. */
  wrote(bytes: number): void;
  /** Waits for the copy that is under way, and ends the thread. */
  close(): Promise<void>;
}

/** What checkpoints are made with. */
export interface CheckpointOptions {
  /** Its own checkpoints are off. */
  readonly db: Database;
  /** Its file. */
  readonly path: string;
  /** Holds writers back, or lets them go on. */
  readonly hold: (held: boolean) => void;
  readonly limits?: CheckpointLimits;
}

export function createCheckpoints({ db, path, hold, limits = LIMITS }: CheckpointOptions): Checkpoints {
  const readLog = createLogReader(db);
  let bytes = 0;
  let freeCopies = 0;
  /** The log when the copy began that is under way. */
  let before: LogState | undefined;
  /** The last copy came to nothing: some program reads the file, or the disk fails. Nobody waits for such copies. */
  let isStuck = false;
  let isOff = false;
  let thread: Worker | undefined;

  function look(): void {
    const log = readLog();
    const { pages, copied } = log;
    const left = pages - copied;
    if (left >= limits.most && !isStuck) hold(true);
    if (before !== undefined || left === 0) return;
    if (pages < limits.restart) freeCopies = 0;
    else holdForLast(left);
    if (pages >= limits.restart || left >= limits.copy) copy(log);
  }

  function holdForLast(left: number): void {
    const isLast = left <= limits.held || freeCopies === FREE_COPIES;
    freeCopies = isLast ? 0 : freeCopies + 1;
    if (isLast && !isStuck) hold(true);
  }

  function copy(log: LogState): void {
    before = log;
    thread ??= startThread(new URL("./checkpoint-thread", import.meta.url), path)
      .on("message", onCopied)
      .on("error", giveUp)
      .on("exit", () => {
        thread = undefined;
        if (before !== undefined && !isOff) giveUp(); // it will not answer any more
      });
    request(thread, "copy");
  }

  const onCopied = guarded(() => {
    if (!db.open) return;
    isStuck = before !== undefined && isSame(before, readLog());
    before = undefined;
    hold(false);
    if (!isStuck) look();
  });

  function guarded(step: () => void): () => void {
    return () => {
      try {
        if (!isOff) step();
      } catch {
        giveUp();
      }
    };
  }

  /** The store makes checkpoints itself then. */
  function giveUp(): void {
    isOff = true;
    hold(false);
    if (db.open) db.pragma(`wal_autocheckpoint = ${limits.copy}`);
  }

  const lookSafely = guarded(look);
  return {
    wrote(more) {
      bytes += more;
      if (bytes < limits.lookBytes) return;
      bytes = 0;
      lookSafely();
    },
    async close() {
      if (thread) await end(thread);
    },
  };
}

function request(thread: Worker, what: CheckpointRequest): void {
  thread.postMessage(what);
}

function end(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    thread.once("exit", () => resolve());
    thread.ref();
    request(thread, "end");
  });
}

interface LogState {
  /** In the log since it began. */
  readonly pages: number;
  readonly copied: number;
}

/** Whether nothing was copied from one to the other, and the log did not begin anew. */
function isSame(one: LogState, other: LogState): boolean {
  return other.copied === one.copied && other.pages >= one.pages;
}

function createLogReader(db: Database): () => LogState {
  const read = db.prepare<[], { readonly log: number; readonly checkpointed: number }>(
    "PRAGMA wal_checkpoint(NOOP)",
  );
  return () => {
    const { log = 0, checkpointed = 0 } = read.get() ?? {};
    return { pages: log, copied: checkpointed };
  };
}
