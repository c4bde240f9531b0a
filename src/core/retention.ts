import { TaskState } from "../protocol/schema.js";
import type { ExpiryRule, TaskUpkeep } from "../stores/task-store.js";

/** What is kept for how long. Unset means for ever. */
export interface RetentionRule {
  /** Only this tenant. Unset: every tenant that has no rule of its own for the same states. */
  readonly tenant?: string;
  /** Tasks in these states; unset means every terminal one. */
  readonly states?: readonly TaskState[];
  /** Age of the last status at which a task is forgotten, milliseconds; `Infinity`: it never is. */
  readonly maxAgeMs: number;
}

export interface RetentionOptions {
  readonly store: TaskUpkeep;
  /** Asked for before each sweep. */
  rules(): readonly RetentionRule[];
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
  const { store, messageKeyMaxAgeMs, everyMs = 60_000, batch = 100, now = Date.now } = options;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** Since readers were told. */
  let hasDeleted = false;

  async function drainRule(rule: RetentionRule, rules: readonly RetentionRule[]): Promise<number> {
    const { tenant, maxAgeMs, states = TERMINAL } = rule;
    if (!Number.isFinite(maxAgeMs)) return 0;
    const beforeMs = now() - maxAgeMs;
    let total = 0;
    for (const state of states) {
      const whose = tenant === undefined ? { exceptTenants: tenantsWithRule(state, rules) } : { tenant };
      total += await drained(() => expire({ states: [state], beforeMs, limit: batch, ...whose }));
    }
    return total;
  }

  async function expire(rule: ExpiryRule): Promise<number> {
    const count = await store.expire(rule);
    hasDeleted ||= count > 0;
    return count;
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
      const rules = options.rules();
      for (const rule of rules) total += await drainRule(rule, rules);
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
    start: schedule,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Tenants that have a rule of their own for tasks in this state. */
function tenantsWithRule(state: TaskState, rules: readonly RetentionRule[]): string[] {
  const own = rules.filter(({ states = TERMINAL }) => states.includes(state));
  return own.flatMap(({ tenant }) => (tenant === undefined ? [] : [tenant]));
}
