/**
 * grpcurl as a client of both ports, with no schema but what server reflection gives it.
 *
 * Arguments: base URL of the gateway, path of grpcurl.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { attempt } from "../report.js";

const [base = "", grpcurl = ""] = process.argv.slice(2);
const SERVICE = "lf.a2a.v1.A2AService";

interface Card {
  readonly supportedInterfaces: readonly { readonly protocolBinding: string; readonly url: string }[];
}

interface Task {
  readonly id: string;
  readonly status: { readonly state: string; readonly message?: { readonly parts: readonly object[] } };
}

function call(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(grpcurl, ["-plaintext", "-max-time", "10", ...args], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function rpc<T>(target: string, method: string, request: object): T {
  return JSON.parse(call("-d", JSON.stringify(request), target, `${SERVICE}/${method}`));
}

function send(target: string, text: string, fields: object = {}): Task {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...fields };
  return rpc<{ task: Task }>(target, "SendMessage", { message }).task;
}

/** grpcurl prints the messages of a stream one after another, each indented. */
function stream(target: string, method: string, request: object): Record<string, object>[] {
  const output = call("-d", JSON.stringify(request), target, `${SERVICE}/${method}`);
  return JSON.parse(`[${output.replaceAll(/^\}\n\{/gm, "},{")}]`);
}

async function addressOfGrpc(): Promise<string> {
  const response = await fetch(`${base}/.well-known/agent-card.json`);
  const card = (await response.json()) as Card;
  return card.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === "GRPC")?.url ?? "";
}

function operations(target: string): Record<string, () => void> {
  return {
    discover: () => {
      const services = call(target, "list").split("\n");
      for (const name of [SERVICE, "grpc.health.v1.Health"]) assert.ok(services.includes(name), name);
      assert.match(call(target, "describe", `${SERVICE}.SubscribeToTask`), /returns \( stream/);
      assert.match(call(target, "describe", ".lf.a2a.v1.Task"), /TaskStatus status = 3/);
    },
    health: () => assert.match(call(target, "grpc.health.v1.Health/Check"), /"SERVING"/),
    send: () => {
      const { status } = send(target, "tck-complete-task");
      assert.equal(status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(status.message?.parts, [{ text: "Hello from TCK" }]);
    },
    stream: () => {
      const message = {
        messageId: crypto.randomUUID(),
        role: "ROLE_USER",
        parts: [{ text: "tck-stream-chunked" }],
      };
      const events = stream(target, "SendStreamingMessage", { message });
      assert.ok(events[0]?.task !== undefined, "the first event is no task");
      assert.equal(events.filter((event) => "artifactUpdate" in event).length, 2);
      const last = events.at(-1)?.statusUpdate as Task | undefined;
      assert.equal(last?.status.state, "TASK_STATE_COMPLETED");
    },
    get: () => {
      const { id } = send(target, "tck-complete-task");
      assert.equal(rpc<Task>(target, "GetTask", { id }).id, id);
    },
    list: () => {
      const contextId = crypto.randomUUID();
      for (let n = 0; n < 3; n++) send(target, "tck-complete-task", { contextId });
      const page = rpc<{ tasks: Task[]; totalSize: number }>(target, "ListTasks", { contextId, pageSize: 2 });
      assert.deepEqual([page.tasks.length, page.totalSize], [2, 3]);
    },
    "follow-up": () => {
      const { id, status } = send(target, "tck-multi-turn");
      assert.equal(status.state, "TASK_STATE_INPUT_REQUIRED");
      assert.equal(send(target, "done", { taskId: id }).status.state, "TASK_STATE_COMPLETED");
    },
    TaskNotFound: () => {
      const failure = /Code: NotFound[\s\S]*google\.rpc\.ErrorInfo[\s\S]*TASK_NOT_FOUND/;
      assert.throws(() => rpc(target, "GetTask", { id: "no-such-task" }), failure);
    },
    TaskNotCancelable: () => {
      const { id } = send(target, "tck-complete-task");
      const failure = /Code: FailedPrecondition[\s\S]*TASK_NOT_CANCELABLE/;
      assert.throws(() => rpc(target, "CancelTask", { id }), failure);
    },
    UnsupportedOperation: () => {
      const { id } = send(target, "tck-complete-task");
      assert.throws(() => stream(target, "SubscribeToTask", { id }), /UNSUPPORTED_OPERATION/);
    },
  };
}

for (const [transport, target] of [
  ["GRPC", await addressOfGrpc()],
  ["GRPC on the HTTP port", new URL(base).host],
] as const) {
  for (const [operation, work] of Object.entries(operations(target)))
    await attempt(transport, operation, work);
}
