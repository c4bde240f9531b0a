// Fills a SQLite store with finished and waiting tasks: `node fill.js FILE COUNT`.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { WireEvent } from "../../../src/protocol/event.js";
import {
  Role,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  type TaskState,
} from "../../../src/protocol/schema.js";
import { createSqliteStore } from "../../../src/stores/index.js";
import { CONTEXT_TASKS, FIRST_MS, STATES } from "./fill-plan.js";

/** Commits that share a transaction. */
const BATCH = 1000;
const SCOPE = { tenant: "", owner: "" };

const [file = "", count = "0"] = process.argv.slice(2);

function taskOf(index: number): Task {
  const id = `task-${String(index).padStart(9, "0")}`;
  const contextId = `context-${Math.floor(index / CONTEXT_TASKS)}`;
  return create(TaskSchema, {
    id,
    contextId,
    status: {
      state: STATES[index % STATES.length] as TaskState,
      timestamp: timestampFromMs(FIRST_MS + index),
    },
    artifacts: [
      { artifactId: "echo", name: "echo", parts: [{ content: { case: "text", value: "Hello, agent." } }] },
    ],
    history: [
      {
        messageId: `message-${index}`,
        taskId: id,
        contextId,
        role: Role.USER,
        parts: [{ content: { case: "text", value: "Hello, agent." } }],
      },
    ],
  });
}

const store = createSqliteStore({ path: file, durability: "normal" });

function commit(index: number) {
  const task = taskOf(index);
  const event = WireEvent.of(create(StreamResponseSchema, { payload: { case: "task", value: task } }), 1);
  return store.commit(SCOPE, task.id, {
    kind: "task",
    expectedSeq: 0,
    entries: [{ seq: 1, event }],
    contextId: task.contextId,
    status: task.status,
    snapshot: task,
  });
}

for (let from = 0; from < Number(count); from += BATCH) {
  const size = Math.min(BATCH, Number(count) - from);
  await Promise.all(Array.from({ length: size }, (_, index) => commit(from + index)));
}
await store.close();
