import { Worker } from "node:worker_threads";

/** Starts a module of this program, without its file's ending, on a thread of its own. The thread does not keep the process alive. */
export function startThread(module: URL, workerData: unknown): Worker {
  const worker = isSource
    ? startSource(module, workerData)
    : new Worker(withEnding(module, "js"), { workerData });
  worker.unref();
  return worker;
}

const isSource = import.meta.url.endsWith(".ts");
const withEnding = (module: URL, ending: string): URL => new URL(`${module.href}.${ending}`);

/** Run from its sources, the program has TypeScript in its main thread only. */
function startSource(module: URL, workerData: unknown): Worker {
  const file = JSON.stringify(withEnding(module, "ts"));
  const load = `import(${JSON.stringify(import.meta.resolve("tsx/esm/api"))})`;
  return new Worker(`${load}.then(({ tsImport }) => tsImport(${file}, ${file}));`, {
    eval: true,
    workerData,
  });
}
