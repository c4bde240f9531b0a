/** A task as the file holds it, whole: nothing has been added to its log since. */
export interface StoredTask {
  readonly scope: number;
  readonly seq: number;
  /** Number of the last wire event. */
  readonly number: number;
  /** The task as protobuf. */
  readonly binary: Uint8Array;
}

/**
 * Tasks that were read a moment ago: who polls a task costs no query. Bytes rather than objects, so that nobody can
 * change what others read.
 */
export interface RecentTasks {
  get(scope: number, id: string): StoredTask | undefined;
  keep(id: string, task: StoredTask): void;
  /** Before anything of the task changes. */
  forget(id: string): void;
}

const MAX_TASKS = 1024;
const MAX_BYTES = 8 * 1024 * 1024;
/** A larger task costs more to decode than to look up. */
const MAX_TASK_BYTES = 64 * 1024;

export function createRecentTasks(): RecentTasks {
  // In the order in which they were read first: the oldest goes.
  const tasks = new Map<string, StoredTask>();
  let bytes = 0;

  function forget(id: string): void {
    const known = tasks.get(id);
    if (known === undefined) return;
    tasks.delete(id);
    bytes -= known.binary.byteLength;
  }

  return {
    get(scope, id) {
      const known = tasks.get(id);
      return known?.scope === scope ? known : undefined;
    },
    keep(id, task) {
      if (task.binary.byteLength > MAX_TASK_BYTES) return;
      forget(id);
      tasks.set(id, task);
      bytes += task.binary.byteLength;
      for (const oldest of tasks.keys()) {
        if (tasks.size <= MAX_TASKS && bytes <= MAX_BYTES) break;
        forget(oldest);
      }
    },
    forget,
  };
}
