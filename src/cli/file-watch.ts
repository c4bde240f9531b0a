import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Watches a set of files. */
export interface FileWatch {
  /** The files to watch from now on; how they are now is where changes begin. */
  follow(files: readonly string[]): void;
  close(): void;
}

/** Who is told. */
export interface FileWatchOptions {
  /** Called once the files have been quiet for a moment after one of them changed. */
  onChange(): void;
  /** A folder cannot be watched; the others still are. */
  onFault(cause: unknown): void;
  /** How long files must be quiet, since editors write in several steps. Milliseconds. Default 200. */
  readonly quietMs?: number;
}

/**
 * Tells when the content of files may have changed. It watches their folders, so that files that are replaced
 * are seen too: editors rename, and Kubernetes exchanges a link above them.
 */
export function createFileWatch({ onChange, onFault, quietMs = 200 }: FileWatchOptions): FileWatch {
  let stamps = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  const watchers = new Map<string, FSWatcher>();

  function look(): void {
    const changed = [...stamps].filter(([file, stamp]) => stampOf(file) !== stamp);
    for (const [file] of changed) stamps.set(file, stampOf(file));
    if (changed.length > 0) onChange();
  }

  function settle(): void {
    clearTimeout(timer);
    timer = setTimeout(look, quietMs).unref();
  }

  function open(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, settle);
      watcher.on("error", onFault);
      watchers.set(folder, watcher);
    } catch (cause) {
      onFault(cause);
    }
  }

  return {
    follow(files) {
      stamps = new Map(files.map((file) => [file, stampOf(file)]));
      const folders = new Set(files.map((file) => dirname(file)));
      for (const [folder, watcher] of watchers) {
        if (folders.has(folder)) continue;
        watcher.close();
        watchers.delete(folder);
      }
      for (const folder of folders) if (!watchers.has(folder)) open(folder);
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

/** Differs when a file was written, replaced, made or removed. */
function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.ino}-${found.mtimeMs}-${found.size}`;
}
