/**
 * The official JavaScript SDK as a client of the gateway, on each of its transports.
 *
 * Argument: base URL of the gateway. Prints one JSON object a line: transport, operation, outcome, detail.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  type Message,
  SendMessageRequest,
  type StreamResponse,
  SubscribeToTaskRequest,
  type Task,
  TaskPushNotificationConfig,
  TaskState,
} from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  type RequestOptions,
  RestTransportFactory,
  type TransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import * as errors from "@a2a-js/sdk/errors";
import { credentials } from "@grpc/grpc-js";

const EXTENSION = "urn:switchyard:interop:required";
const TIME_LIMIT_MS = 20_000;

const TRANSPORTS = new Map<string, TransportFactory>([
  ["JSONRPC", new JsonRpcTransportFactory()],
  ["HTTP+JSON", new RestTransportFactory()],
  ["GRPC", new GrpcTransportFactory({ grpcChannelCredentials: credentials.createInsecure() })],
]);

/** The clients of one transport, one for each agent. */
interface Session {
  readonly transport: string;
  readonly main: Client;
  readonly plain: Client;
  readonly strict: Client;
}

interface SendOptions {
  readonly immediately?: boolean;
  readonly fields?: object;
}

function request(part: object, { immediately = false, fields = {} }: SendOptions = {}): SendMessageRequest {
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: "ROLE_USER", parts: [part], ...fields },
    configuration: { returnImmediately: immediately },
  });
}

async function sendTask(client: Client, text: string, options?: SendOptions): Promise<Task> {
  const answer = await client.sendMessage(request({ text }, options));
  assert.ok("status" in answer, "a message came back");
  return answer;
}

function textOf(holder: Pick<Message, "parts"> | undefined): unknown {
  const content = holder?.parts[0]?.content;
  return content?.$case === "text" ? content.value : content;
}

async function collect(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function lastState(events: readonly StreamResponse[]): TaskState | undefined {
  const last = events.at(-1)?.payload;
  return last?.$case === "statusUpdate" ? last.value.status?.state : undefined;
}

const operations: Record<string, (session: Session) => Promise<unknown>> = {
  async discover({ main, transport }) {
    const card = await main.getAgentCard();
    assert.ok(card.supportedInterfaces.some(({ protocolBinding }) => protocolBinding === transport));
    assert.equal(card.capabilities?.streaming, true);
  },
  async send({ main }) {
    const task = await sendTask(main, "tck-complete-task");
    assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED);
    assert.equal(textOf(task.status?.message), "Hello from TCK");
    const answer = await main.sendMessage(request({ text: "tck-message-response" }));
    assert.equal("parts" in answer && textOf(answer), "Direct message response");
  },
  async immediate({ main }) {
    const task = await sendTask(main, "tck-cancel", { immediately: true });
    await main.cancelTask(CancelTaskRequest.fromJSON({ id: task.id }));
    const open = [TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING];
    assert.ok(open.includes(task.status?.state ?? TaskState.TASK_STATE_UNSPECIFIED));
  },
  async stream({ main }) {
    const events = await collect(main.sendMessageStream(request({ text: "tck-stream-chunked" })));
    assert.equal(events[0]?.payload?.$case, "task");
    const chunks = events.flatMap(({ payload }) =>
      payload?.$case === "artifactUpdate" ? [[payload.value.append, textOf(payload.value.artifact)]] : [],
    );
    assert.deepEqual(chunks, [
      [false, "chunk-1 "],
      [true, "chunk-2"],
    ]);
    assert.equal(lastState(events), TaskState.TASK_STATE_COMPLETED);
  },
  async get({ main }) {
    const { id } = await sendTask(main, "tck-artifact-text");
    const task = await main.getTask(GetTaskRequest.fromJSON({ id, historyLength: 1 }));
    assert.equal(textOf(task.artifacts[0]), "Generated text content");
    assert.ok(task.history.length <= 1);
  },
  async list({ main }) {
    const contextId = randomUUID();
    for (let n = 0; n < 3; n++) await sendTask(main, "tck-complete-task", { fields: { contextId } });
    const first = await main.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2 }));
    assert.deepEqual([first.tasks.length, first.totalSize, first.pageSize], [2, 3, 2]);
    const pageToken = first.nextPageToken;
    const second = await main.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 2, pageToken }));
    assert.equal(second.nextPageToken, "");
    assert.equal(new Set([...first.tasks, ...second.tasks].map(({ id }) => id)).size, 3);
  },
  async cancel({ main }) {
    const { id } = await sendTask(main, "tck-cancel", { immediately: true });
    const task = await main.cancelTask(CancelTaskRequest.fromJSON({ id }));
    assert.equal(task.status?.state, TaskState.TASK_STATE_CANCELED);
  },
  async subscribe({ main }) {
    const { id } = await sendTask(main, "tck-cancel", { immediately: true });
    const events: StreamResponse[] = [];
    for await (const event of main.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id }))) {
      if (events.push(event) === 1) await main.cancelTask(CancelTaskRequest.fromJSON({ id }));
    }
    const first = events[0]?.payload;
    assert.equal(first?.$case === "task" && first.value.id, id);
    assert.equal(lastState(events), TaskState.TASK_STATE_CANCELED);
  },
  async "follow-up"({ main }) {
    const { id, status } = await sendTask(main, "tck-multi-turn");
    assert.equal(status?.state, TaskState.TASK_STATE_INPUT_REQUIRED);
    const done = await sendTask(main, "done", { fields: { taskId: id } });
    assert.equal(done.id, id);
    assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED);
  },
  async "extended-card"({ main }) {
    const { description } = await main.getAgentCard();
    assert.equal(description, "For callers who are known.");
  },
  TaskNotFound: ({ main }) => main.getTask(GetTaskRequest.fromJSON({ id: "no-such-task" })),
  async TaskNotCancelable({ main }) {
    const { id } = await sendTask(main, "tck-complete-task");
    await main.cancelTask(CancelTaskRequest.fromJSON({ id }));
  },
  async PushNotificationNotSupported({ plain }) {
    const { id } = await sendTask(plain, "hello");
    const config = { taskId: id, url: "https://example.com/hook" };
    await plain.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(config));
  },
  async UnsupportedOperation({ main }) {
    const { id } = await sendTask(main, "tck-complete-task");
    await collect(main.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id })));
  },
  ContentTypeNotSupported: ({ plain }) =>
    plain.sendMessage(request({ raw: "iVBORw==", mediaType: "image/png" })),
  InvalidAgentResponse: ({ plain }) => plain.sendMessage(request({ text: "invalid" })),
  async ExtensionSupportRequired({ strict }) {
    const options: RequestOptions = { serviceParameters: { "A2A-Extensions": EXTENSION } };
    await strict.sendMessage(request({ text: "hello" }), options);
    await strict.sendMessage(request({ text: "hello" }));
  },
  // The client always writes the version that the card offers, so the transport is asked directly.
  VersionNotSupported: ({ main }) =>
    main.transport.getTask(GetTaskRequest.fromJSON({ id: "any" }), {
      serviceParameters: { "A2A-Version": "9.9" },
    }),
};

async function open(base: string, transport: string, factory: TransportFactory): Promise<Session> {
  const clients = new ClientFactory({ transports: [factory] });
  return {
    transport,
    main: await clients.createFromUrl(base),
    plain: await clients.createFromUrl(`${base}/plain/.well-known/agent-card.json`, ""),
    strict: await clients.createFromUrl(`${base}/strict/.well-known/agent-card.json`, ""),
  };
}

function within<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no answer in time")), TIME_LIMIT_MS);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Empty when the operation ended as its name says: with that error, or for a name in lower case with none. */
async function fault(session: Session, name: string, operation: (session: Session) => Promise<unknown>) {
  const Expected = Reflect.get(errors, `${name}Error`);
  try {
    await within(operation(session));
    return Expected === undefined ? "" : "no error";
  } catch (error) {
    return Expected !== undefined && error instanceof Expected ? "" : String(error);
  }
}

const [base = ""] = process.argv.slice(2);
for (const [transport, factory] of TRANSPORTS) {
  const session = await open(base, transport, factory);
  for (const [operation, attempt] of Object.entries(operations)) {
    const detail = await fault(session, operation, attempt);
    const outcome = detail === "" ? "ok" : "failed";
    console.log(JSON.stringify({ transport, operation, outcome, detail }));
  }
}
process.exit();
