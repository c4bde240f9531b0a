/** Runs inside the browser, in a page of another origin than the gateway. */
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import {
  A2AService,
  Role,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../../src/protocol/schema.js";

interface Outcome {
  readonly transport: string;
  readonly operation: string;
  readonly detail: string;
}

declare global {
  interface Window {
    tryOut(base: string): Promise<Outcome[]>;
  }
}

interface Card {
  readonly supportedInterfaces: readonly { readonly protocolBinding: string; readonly url: string }[];
}

type Operations = Record<string, () => Promise<void>>;

function check(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

function message(text: string, fields: { readonly contextId?: string; readonly taskId?: string } = {}) {
  const parts = [{ content: { case: "text" as const, value: text } }];
  return { messageId: crypto.randomUUID(), role: Role.USER, parts, ...fields };
}

function taskOf({ payload }: SendMessageResponse): Task {
  check(payload.case === "task", "no task came back");
  return payload.value;
}

function lastState(events: readonly StreamResponse[]): TaskState | undefined {
  const last = events.at(-1)?.payload;
  return last?.case === "statusUpdate" ? last.value.status?.state : undefined;
}

async function reasonOf(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => ConnectError.from(thrown),
  );
  check(error !== undefined, "no error");
  check(error.code !== Code.Unknown, `unknown error: ${error.message}`);
  return error.findDetails(ErrorInfoSchema)[0]?.reason;
}

/** The operations over Connect or gRPC-Web, with connect's own clients for browsers. */
function rpcOperations(client: Client<typeof A2AService>): Operations {
  const send = async (text: string, fields = {}) => {
    return taskOf(await client.sendMessage({ message: message(text, fields) }));
  };
  const start = async () => {
    const configuration = { returnImmediately: true };
    return taskOf(await client.sendMessage({ message: message("tck-cancel"), configuration }));
  };
  return {
    async send() {
      const { status } = await send("tck-complete-task");
      check(status?.state === TaskState.COMPLETED, `state ${status?.state}`);
      check(status.message?.parts[0]?.content.value === "Hello from TCK", "status message");
    },
    async immediate() {
      const { id, status } = await start();
      await client.cancelTask({ id });
      check(status?.state === TaskState.SUBMITTED || status?.state === TaskState.WORKING, "state");
    },
    async stream() {
      const events: StreamResponse[] = [];
      for await (const event of client.sendStreamingMessage({ message: message("tck-stream-chunked") })) {
        events.push(event);
      }
      check(events[0]?.payload.case === "task", "the first event is no task");
      check(events.filter(({ payload }) => payload.case === "artifactUpdate").length === 2, "chunks");
      check(lastState(events) === TaskState.COMPLETED, "last state");
    },
    async get() {
      const { id } = await send("tck-artifact-text");
      const task = await client.getTask({ id, historyLength: 1 });
      check(task.artifacts.length === 1 && task.history.length <= 1, "task");
    },
    async list() {
      const contextId = crypto.randomUUID();
      for (let n = 0; n < 3; n++) await send("tck-complete-task", { contextId });
      const first = await client.listTasks({ contextId, pageSize: 2 });
      check(first.tasks.length === 2 && first.totalSize === 3, "first page");
      const second = await client.listTasks({ contextId, pageSize: 2, pageToken: first.nextPageToken });
      check(second.tasks.length === 1 && second.nextPageToken === "", "second page");
    },
    async cancel() {
      const { status } = await client.cancelTask({ id: (await start()).id });
      check(status?.state === TaskState.CANCELED, `state ${status?.state}`);
    },
    async subscribe() {
      const { id } = await start();
      const events: StreamResponse[] = [];
      for await (const event of client.subscribeToTask({ id })) {
        if (events.push(event) === 1) await client.cancelTask({ id });
      }
      check(events[0]?.payload.case === "task", "the first event is no task");
      check(lastState(events) === TaskState.CANCELED, "last state");
    },
    async "follow-up"() {
      const { id, status } = await send("tck-multi-turn");
      check(status?.state === TaskState.INPUT_REQUIRED, `state ${status?.state}`);
      check((await send("done", { taskId: id })).status?.state === TaskState.COMPLETED, "follow-up");
    },
    async TaskNotFound() {
      check((await reasonOf(client.getTask({ id: "no-such-task" }))) === "TASK_NOT_FOUND", "reason");
    },
    async TaskNotCancelable() {
      const { id } = await send("tck-complete-task");
      check((await reasonOf(client.cancelTask({ id }))) === "TASK_NOT_CANCELABLE", "reason");
    },
    async UnsupportedOperation() {
      const { id } = await send("tck-complete-task");
      const first = client.subscribeToTask({ id })[Symbol.asyncIterator]().next();
      check((await reasonOf(first)) === "UNSUPPORTED_OPERATION", "reason");
    },
  };
}

async function answerOf(response: Response): Promise<{ status: number; body: Record<string, unknown> }> {
  return { status: response.status, body: await response.json() };
}

const HEADERS = { "content-type": "application/json", "A2A-Version": "1.0" };

function textMessage(text: string) {
  return { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
}

/** JSON-RPC and REST with nothing but fetch. */
function fetchOperations(base: string): Record<"JSON-RPC by fetch" | "REST by fetch", Operations> {
  const rpc = (method: string, params: object) =>
    fetch(base, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const post = (path: string, body: object) =>
    fetch(base + path, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
  return {
    "JSON-RPC by fetch": {
      async send() {
        const { body } = await answerOf(await rpc("SendMessage", { message: textMessage("hello") }));
        check((body.result as { task?: object }).task !== undefined, JSON.stringify(body));
      },
      async stream() {
        const response = await rpc("SendStreamingMessage", { message: textMessage("tck-stream-chunked") });
        check(response.headers.get("content-type")?.startsWith("text/event-stream"), "content type");
        check((await response.text()).includes("TASK_STATE_COMPLETED"), "last state");
      },
      async TaskNotFound() {
        const { body } = await answerOf(await rpc("GetTask", { id: "no-such-task" }));
        check((body.error as { code?: number }).code === -32001, JSON.stringify(body));
      },
    },
    "REST by fetch": {
      async send() {
        const { body } = await answerOf(await post("/message:send", { message: textMessage("hello") }));
        check(body.task !== undefined, JSON.stringify(body));
      },
      async stream() {
        const response = await post("/message:stream", { message: textMessage("tck-stream-chunked") });
        check((await response.text()).includes("TASK_STATE_COMPLETED"), "last state");
      },
      async TaskNotFound() {
        const { status } = await answerOf(await fetch(`${base}/tasks/no-such-task`, { headers: HEADERS }));
        check(status === 404, `status ${status}`);
      },
    },
  };
}

async function runAll(transport: string, operations: Operations): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const [operation, work] of Object.entries(operations)) {
    const detail = await work().then(() => "", String);
    outcomes.push({ transport, operation, detail });
  }
  return outcomes;
}

window.tryOut = async (base) => {
  const response = await fetch(`${base}/.well-known/agent-card.json`);
  const { supportedInterfaces }: Card = await response.json();
  const urlOf = (binding: string) => {
    const found = supportedInterfaces.find(({ protocolBinding }) => protocolBinding === binding);
    check(found, `${binding} is not in the card`);
    return found.url;
  };
  const connect = urlOf("urn:switchyard:binding:connect:v1");
  const grpcWeb = urlOf("urn:switchyard:binding:grpc-web:v1");
  const transports: Record<string, Transport> = {
    "Connect JSON": createConnectTransport({ baseUrl: connect }),
    "Connect binary": createConnectTransport({ baseUrl: connect, useBinaryFormat: true }),
    "gRPC-Web": createGrpcWebTransport({ baseUrl: grpcWeb }),
  };
  const outcomes: Outcome[] = [{ transport: "Connect JSON", operation: "discover", detail: "" }];
  for (const [name, transport] of Object.entries(transports)) {
    outcomes.push(...(await runAll(name, rpcOperations(createClient(A2AService, transport)))));
  }
  for (const [name, operations] of Object.entries(fetchOperations(base))) {
    outcomes.push(...(await runAll(name, operations)));
  }
  return outcomes;
};
