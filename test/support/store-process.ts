/**
 * A process that opens a store and commits tasks for as long as it lives. Prints a line for each task that was
 * acknowledged; when the store cannot be opened, prints why and ends with 1.
 */
import { parseArgs } from "node:util";
import { newId } from "../../src/protocol/ids.js";
import { TaskState } from "../../src/protocol/schema.js";
import { createSqliteStore, StoreOpenError } from "../../src/stores/index.js";
import type { FullTaskStore } from "../../src/stores/task-store.js";
import { chunk, createLogWriter, opening, status, text } from "./log.js";

const WRITERS = 8;
const scope = { tenant: "", owner: "" };

function open(path: string): FullTaskStore {
  try {
    return createSqliteStore({ path });
  } catch (thrown) {
    if (!(thrown instanceof StoreOpenError)) throw thrown;
    console.error(thrown.message);
    process.exit(1);
  }
}

async function writeTasks(store: FullTaskStore): Promise<void> {
  for (;;) {
    const id = newId();
    const log = createLogWriter();
    const key = { messageKey: { messageId: `m-${id}`, digest: "d" } };
    await store.commit(scope, id, log.write([opening({ id, contextId: "c" }, Date.now())], key));
    const work = [
      chunk({ artifactId: "a", parts: [text("x".repeat(500))] }),
      status(TaskState.COMPLETED, Date.now()),
    ];
    await store.commit(scope, id, log.write(work, { snapshot: true }));
    process.stdout.write(`${id}\n`);
  }
}

const { positionals } = parseArgs({ allowPositionals: true });
const store = open(positionals[0] ?? "");
process.stdout.write("open\n");
await Promise.all(Array.from({ length: WRITERS }, () => writeTasks(store)));
