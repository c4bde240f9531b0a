/** Named gates: whoever waits at one goes on when the test opens it, at once if it is open already. */
export interface Gates {
  /** Waits until the gate is open; rejects with the signal's reason when that aborts first. */
  pass(name: string, signal?: AbortSignal): Promise<void>;
  open(name: string): void;
  /** Resolves when someone has come to the gate. */
  reached(name: string): Promise<void>;
  /** Opens every gate that someone waits at, and every one that comes to be waited at until `reset`. */
  openAll(): void;
  reset(): void;
}

interface Gate {
  readonly opened: Latch;
  readonly reached: Latch;
}

interface Latch {
  readonly wait: Promise<void>;
  release(): void;
}

export function createGates(): Gates {
  const gates = new Map<string, Gate>();
  let allOpen = false;
  const gate = (name: string): Gate => {
    const found = gates.get(name) ?? { opened: latch(), reached: latch() };
    gates.set(name, found);
    return found;
  };
  return {
    pass: async (name, signal) => {
      const { opened, reached } = gate(name);
      reached.release();
      if (!allOpen) await untilAborted(opened.wait, signal);
    },
    open: (name) => gate(name).opened.release(),
    reached: (name) => gate(name).reached.wait,
    openAll: () => {
      allOpen = true;
      for (const { opened } of gates.values()) opened.release();
    },
    reset: () => {
      allOpen = false;
      gates.clear();
    },
  };
}

function latch(): Latch {
  let release = (): void => undefined;
  const wait = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { wait, release };
}

async function untilAborted(wait: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return wait;
  signal.throwIfAborted();
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    await Promise.race([wait, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
