// Times what lies behind the bindings, called directly: the operations, and the stores alone.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { createDirectory } from "../../../src/agents/directory.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { buildCards } from "../../../src/core/cards.js";
import type { Call, Dispatcher } from "../../../src/core/context.js";
import { createEngine } from "../../../src/core/engine.js";
import { createMemoryHub } from "../../../src/hub/memory.js";
import { CallEnding } from "../../../src/protocol/ending.js";
import { WireEvent } from "../../../src/protocol/event.js";
import {
  A2AService,
  GetTaskRequestSchema,
  Role,
  SendMessageRequestSchema,
  type SendMessageResponse,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../../../src/protocol/schema.js";
import { createMemoryStore, createSqliteStore } from "../../../src/stores/index.js";
import type { FullTaskStore } from "../../../src/stores/task-store.js";
import { WORK } from "../harness/server.js";
import bench from "../servers/agent.js";
import { report, type Timing, timedAsync } from "./timed.js";

const IN_FLIGHT = 32;

let sequence = 0;
const nextId = () => {
  sequence += 1;
  return `id-${sequence}`;
};

function dispatcherOf(store: FullTaskStore): Dispatcher {
  const policy = { busy: "reject", followUps: "resume", concurrency: "many", idempotency: true } as const;
  const entryOf = (tenant: string, agent: typeof bench) => ({
    tenant,
    agent,
    policy,
    extendedCardPublic: false,
    ...buildCards({
      tenant,
      card: agent.card,
      addresses: { url: "http://127.0.0.1" },
      streaming: true,
      pushNotifications: false,
    }),
  });
  const directory = createDirectory([entryOf("", createEchoAgent()), entryOf("bench", bench)]);
  return createEngine({ store, hub: createMemoryHub(), directory, onFault: () => {} }).dispatcher;
}

const caller = new CallEnding();

function callOf(method: DescMethod, request: Message): Call {
  return {
    wire: "grpc",
    method,
    request,
    parameters: () => undefined,
    impliedVersion: "1.0",
    caller,
    signal: caller.signal,
    traffic: { received: 0, sent: 0 },
  };
}

function messageOf(text: string, tenant = "") {
  const parts = [{ content: { case: "text" as const, value: text } }];
  return create(SendMessageRequestSchema, {
    tenant,
    message: { messageId: nextId(), role: Role.USER, parts },
  });
}

async function send(dispatcher: Dispatcher): Promise<string> {
  const reply = await dispatcher.call(callOf(A2AService.method.sendMessage, messageOf("Hello, agent.")));
  if (reply.kind === "stream") throw new Error("a stream, not one message");
  const { payload } = reply.message as SendMessageResponse;
  return payload.case === "task" ? payload.value.id : "";
}

async function drain(dispatcher: Dispatcher, text: string): Promise<void> {
  const reply = await dispatcher.call(
    callOf(A2AService.method.sendStreamingMessage, messageOf(text, "bench")),
  );
  if (reply.kind === "stream") for await (const event of reply.events) void event;
}

/** A task with an artifact, in one write of four entries: what a send of the echo agent commits. */
function commit(store: FullTaskStore) {
  const id = nextId();
  const task = create(TaskSchema, {
    id,
    contextId: id,
    status: { state: TaskState.COMPLETED, timestamp: timestampNow() },
    artifacts: [
      { artifactId: "echo", name: "echo", parts: [{ content: { case: "text", value: "Hello, agent." } }] },
    ],
  });
  const entries = Array.from({ length: 4 }, (_, index) => ({
    seq: index + 1,
    event: WireEvent.of(create(StreamResponseSchema, { payload: { case: "task", value: task } }), index + 1),
  }));
  return store.commit({ tenant: "", owner: "" }, id, {
    kind: "task",
    expectedSeq: 0,
    entries,
    contextId: task.contextId,
    status: task.status,
    snapshot: task,
  });
}

async function timingsOf(name: string, store: FullTaskStore): Promise<Timing[]> {
  const dispatcher = dispatcherOf(store);
  const id = await send(dispatcher);
  const get = callOf(A2AService.method.getTask, create(GetTaskRequestSchema, { id }));
  return [
    await timedAsync(`${name}: commit of four entries`, IN_FLIGHT, () => commit(store)),
    await timedAsync(`${name}: GetTask`, IN_FLIGHT, () => dispatcher.call(get)),
    await timedAsync(`${name}: SendMessage`, IN_FLIGHT, () => send(dispatcher)),
    await timedAsync(`${name}: stream of 100 chunks`, IN_FLIGHT, () => drain(dispatcher, "chunks 100")),
  ];
}

const folder = mkdtempSync(join(WORK, "engine-"));
const memory = createMemoryStore();
const sqlite = createSqliteStore({ path: join(folder, "tasks.db") });
try {
  report([...(await timingsOf("memory", memory)), ...(await timingsOf("SQLite", sqlite))]);
} finally {
  await Promise.all([memory.close(), sqlite.close()]);
  rmSync(folder, { recursive: true, force: true });
}
