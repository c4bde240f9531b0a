/** The thread that copies the write-ahead log into the database file, over a connection of its own. */
import { parentPort, workerData } from "node:worker_threads";
import Sqlite from "better-sqlite3";

/** What the thread is asked for: to copy what the log holds by then, which it answers, or to end. */
export type CheckpointRequest = "copy" | "end";

const db = new Sqlite(workerData as string, { fileMustExist: true });

parentPort?.on("message", (request: CheckpointRequest) => {
  if (request === "copy") copy();
  else end();
});

/** Passive: it keeps nobody from reading and writing. What fails is tried again with the next request. */
function copy(): void {
  try {
    db.pragma("wal_checkpoint(PASSIVE)");
  } catch {
    // The log shows that nothing was copied.
  }
  parentPort?.postMessage("copied");
}

function end(): void {
  db.close();
  parentPort?.close();
}
