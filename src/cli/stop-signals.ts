import { constants } from "node:os";
import type { Logger } from "pino";

/** The signals that end a gateway. */
export interface StopSignals {
  /** Resolves with the first of them. */
  readonly first: Promise<NodeJS.Signals>;
  close(): void;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Listens for SIGTERM and SIGINT. The first is for the caller to log; a second one ends the process at once, with 128 and its number. */
export function createStopSignals(logger: Logger, exit: (code: number) => void): StopSignals {
  let stopping = false;
  let tell: (signal: NodeJS.Signals) => void = () => undefined;
  const first = new Promise<NodeJS.Signals>((resolve) => {
    tell = resolve;
  });
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) {
      logger.warn({ signal }, "a second signal: ending at once");
      return exit(128 + constants.signals[signal]);
    }
    stopping = true;
    tell(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    first,
    close() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
