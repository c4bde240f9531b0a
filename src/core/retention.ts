import { TaskState } from "../protocol/schema.js";
import type { ExpiryRule, TaskUpkeep } from "../stores/task-store.js";

/** What is kept for how long. Unset means for ever. */
export interface RetentionRule {
  /** Only this tenant. Unset: every tenant that has no rule of its own for the same states. */
  readonly tenant?: string;
  /** Tasks in these states; unset means every terminal one. */
  readonly states?: readonly TaskState[];
  /** Age of the last status at which a task is forgotten, milliseconds. */
  readonly maxAgeMs: number;
}

export interface RetentionOptions {
  readonly store: TaskUpkeep;
  readonly rules: readonly RetentionRule[];
  /** How long a repeated message finds its first answer, milliseconds. Unset: as long as the store keeps it. */
  readonly messageKeyMaxAgeMs?: number;
  /** Pause between sweeps, milliseconds. Default 60 000. */
  readonly everyMs?: number;
  /** Tasks deleted in one go, so that no call waits longer than a few milliseconds. Default 100. */
  readonly batch?: number;
  readonly now?: () => number;
  /** Told after a sweep that deleted tasks, so that their readers end. */
  readonly onDeleted?: () => void;
  onFault(cause: unknown): void;
}

/** Forgets old tasks in the background. */
export interface Retention {
  /** One sweep of everything that is due; returns how many tasks were deleted. */
  sweep(): Promise<number>;
  start(): void;
  stop(): void;
}

const TERMINAL = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED];

export function createRetention(options: RetentionOptions): Retention {
  const { store, rules, messageKeyMaxAgeMs, everyMs = 60_000, batch = 100, now = Date.now } = options;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** Since readers were told. */
  let hasDeleted = false;

  async function drainRule(rule: RetentionRule): Promise<number> {
    const beforeMs = now() - rule.maxAgeMs;
    let total = 0;
    for (const state of rule.states ?? TERMINAL) {
      const whose =
        rule.tenant === undefined ? { exceptTenants: tenantsWithRule(state) } : { tenant: rule.tenant };
      total += await drained(() => expire({ states: [state], beforeMs, limit: batch, ...whose }));
    }
    return total;
  }

  async function expire(rule: ExpiryRule): Promise<number> {
    const count = await store.expire(rule);
    hasDeleted ||= count > 0;
    return count;
  }

  function tenantsWithRule(state: TaskState): string[] {
    const own = rules.filter(({ states = TERMINAL }) => states.includes(state));
    return own.flatMap(({ tenant }) => (tenant === undefined ? [] : [tenant]));
  }

  /** Repeats until a batch is not full, letting other work run in between. */
  async function drained(once: () => Promise<number>): Promise<number> {
    let total = 0;
    while (!stopped) {
      const deleted = await once();
      total += deleted;
      if (deleted < batch) break;
      await new Promise(setImmediate);
    }
    return total;
  }

  async function sweep(): Promise<number> {
    let total = 0;
    try {
      for (const rule of rules) total += await drainRule(rule);
    } finally {
      if (hasDeleted) options.onDeleted?.();
      hasDeleted = false;
    }
    if (messageKeyMaxAgeMs !== undefined && !stopped) {
      const beforeMs = now() - messageKeyMaxAgeMs;
      await drained(() => store.expireKeys(beforeMs, batch));
    }
    return total;
  }

  function schedule(): void {
    timer = setTimeout(() => {
      sweep()
        .catch((cause: unknown) => !stopped && options.onFault(cause))
        .finally(() => !stopped && schedule());
    }, everyMs);
    timer.unref();
  }

  return {
    sweep,
    start() {
      if (rules.length > 0 || messageKeyMaxAgeMs !== undefined) schedule();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
