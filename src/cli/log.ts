import pino, { type DestinationStream, type Logger } from "pino";
import type { Config } from "../config/schema.js";

/** How long a line may wait for others. Milliseconds. */
const DELAY_MS = 50;
/** Length of text that does not wait for more. */
const FULL = 16 * 1024;
/** Bytes that may wait for a reader who does not read; further lines are dropped. */
const MAX_WAITING = 16 * 1024 * 1024;

/** The program's log: JSON lines on standard error. What waits when the process exits is written then. */
export function createLog({ level }: Config["log"]): Logger {
  const destination = pino.destination({ dest: 2, sync: false, maxLength: MAX_WAITING });
  const lines = gathered(destination);
  process.once("exit", () => lines.flushSync());
  return pino({ level }, lines);
}

/** What of a SonicBoom is used here. */
export interface LogDestination extends DestinationStream {
  flush(done?: (error?: Error) => void): void;
  flushSync(): void;
}

/** Writes lines together, 50 ms after the first of them at the latest: one by one they cost a tenth of a GetTask. */
export function gathered(destination: LogDestination): LogDestination {
  let text = "";
  let timer: NodeJS.Timeout | undefined;

  function pass(): void {
    clearTimeout(timer);
    timer = undefined;
    const lines = text;
    text = "";
    if (lines !== "") destination.write(lines);
  }

  return {
    write(line) {
      text += line;
      if (text.length >= FULL) pass();
      else timer ??= setTimeout(pass, DELAY_MS).unref();
    },
    flush(done) {
      pass();
      destination.flush(done);
    },
    flushSync() {
      pass();
      destination.flushSync();
    },
  };
}
