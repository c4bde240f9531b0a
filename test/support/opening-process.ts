/**
 * A process that opens stores at appointed times: for each path it is given, `everyMs` after the one before. Prints
 * `ready`, reads the time of the first from standard input, and prints at the end for each whether it was opened.
 */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { createSqliteStore, StoreOpenError } from "../../src/stores/index.js";

const [everyMs, ...paths] = process.argv.slice(2);

const stores: unknown[] = [];

function isOpened(path: string): boolean {
  try {
    stores.push(createSqliteStore({ path }));
    return true;
  } catch (thrown) {
    if (thrown instanceof StoreOpenError) return false;
    throw thrown;
  }
}

process.stdout.write("ready\n");
const [start] = (await once(process.stdin, "data")) as [Buffer];
const opened: boolean[] = [];
for (const [index, path] of paths.entries()) {
  const at = Number(start.toString()) + index * Number(everyMs);
  await delay(Math.max(at - Date.now() - 5, 0));
  while (Date.now() < at);
  opened.push(isOpened(path));
}
process.stdout.write(`${JSON.stringify(opened)}\n`);
await once(process.stdin, "end");
process.exit(0);
