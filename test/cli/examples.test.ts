import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createWorkplace,
  getTask,
  type JsonPart,
  type SendOptions,
  type Sent,
  type StreamEvent,
  send,
  sendStreaming,
  type Workplace,
} from "../support/program.js";

// The first test compiles the program.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Copies an example to where an author who installed the package would have it, and serves it. */
async function serveExample(
  workplace: Workplace,
  name: string,
  profile = "switchyard.yaml",
): Promise<string> {
  const folder = join(workplace.directory, name);
  cpSync(fileURLToPath(new URL(`../../examples/${name}`, import.meta.url)), folder, { recursive: true });
  const { url } = await workplace.serve(["--config", join(folder, profile)]);
  return url;
}

async function collect(events: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const all: StreamEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** Each event as a word: the state of a task or status, or the text of an artifact. */
function shape(events: readonly StreamEvent[]): string[] {
  return events.map(({ task, statusUpdate, artifactUpdate, message }) => {
    const state = (task ?? statusUpdate)?.status.state.replace("TASK_STATE_", "");
    const parts = artifactUpdate?.artifact.parts ?? message?.parts ?? [];
    return state ?? parts.map(({ text }) => text).join("");
  });
}

const statusText = ({ task }: Sent) => task?.status.message?.parts.map(({ text }) => text).join("");

describe("small examples", () => {
  let workplace: Workplace;
  beforeEach(() => {
    workplace = createWorkplace();
  });
  afterEach(() => workplace.close());

  it("S2-03 calculator asks for what is missing and completes the same task", async () => {
    const url = await serveExample(workplace, "calculator");
    const first = await send(url, "6 *");
    expect(first.task?.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(statusText(first)).toBe("6 * which number?");
    const second = await send(url, "7", { message: { taskId: first.task?.id } });
    expect(second.task?.id).toBe(first.task?.id);
    expect(second.task?.status.state).toBe("TASK_STATE_COMPLETED");
    expect(statusText(second)).toBe("42");
    expect(statusText(await send(url, "1 / 0"))).toBe("That has no result.");
    expect((await send(url, "six")).task?.status.state).toBe("TASK_STATE_FAILED");
  });

  it("S2-05 word streamer speaks word by word", async () => {
    const url = await serveExample(workplace, "word-streamer");
    const events = await collect(sendStreaming(url, "The quick fox"));
    expect(shape(events)).toEqual(["SUBMITTED", "WORKING", "The ", "quick ", "fox", "COMPLETED"]);
    expect(events.map(({ artifactUpdate }) => artifactUpdate?.append ?? false)).toEqual([
      false,
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  it("file maker answers with a file and data, at its tenant", async () => {
    const url = await serveExample(workplace, "file-maker");
    expect((await fetch(`${url}/.well-known/agent-card.json`)).status).toBe(404);
    const card = (await (await fetch(`${url}/files/.well-known/agent-card.json`)).json()) as {
      provider: object;
    };
    expect(card.provider).toEqual({ organization: "Example", url: "https://example.com" });
    const { task } = await send(`${url}/files`, 'name, "nick", age\nAda, 36');
    const [file, data] = task?.artifacts?.[0]?.parts ?? [];
    expect(Buffer.from(file?.raw ?? "", "base64").toString()).toBe('name,"""nick""",age\r\nAda,36\r\n');
    expect(file).toMatchObject({ filename: "table.csv", mediaType: "text/csv" });
    expect(data?.data).toEqual({ rows: 2, columns: 3 });
  });
});

describe("conformance agent", () => {
  let workplace: Workplace;
  let url: string;
  beforeAll(async () => {
    workplace = createWorkplace();
    url = await serveExample(workplace, "conformance-agent");
  });
  afterAll(() => workplace.close());

  const trigger = (name: string, options: SendOptions = {}) =>
    send(url, "x", {
      ...options,
      message: { messageId: `${name}-${crypto.randomUUID()}`, ...options.message },
    });

  it.each<[string, string, string | undefined, JsonPart[] | undefined]>([
    ["tck-complete-task", "COMPLETED", "Hello from TCK", undefined],
    ["tck-input-required", "INPUT_REQUIRED", "Input is required.", undefined],
    ["tck-artifact-text", "COMPLETED", undefined, [{ text: "Generated text content" }]],
    [
      "tck-artifact-file",
      "COMPLETED",
      undefined,
      [{ raw: "dGNr", filename: "output.txt", mediaType: "text/plain" }],
    ],
    [
      "tck-artifact-file-url",
      "COMPLETED",
      undefined,
      [{ url: "https://example.com/output.txt", filename: "output.txt", mediaType: "text/plain" }],
    ],
    ["tck-artifact-data", "COMPLETED", undefined, [{ data: { key: "value", count: 42 } }]],
    ["tck-stream-002", "COMPLETED", undefined, undefined],
    ["tck-reject-task", "REJECTED", "rejected", undefined],
    ["tck-task-failure", "FAILED", "The task failed, as it was asked to.", undefined],
    ["tck-auth-required", "AUTH_REQUIRED", "Authorization is required.", undefined],
    ["tck-multi-turn", "INPUT_REQUIRED", undefined, undefined],
    ["something-else", "COMPLETED", "Nothing was asked for.", undefined],
  ])("%s by message id", async (name, state, said, artifact) => {
    const sent = await trigger(name);
    expect(sent.task?.status.state).toBe(`TASK_STATE_${state}`);
    expect(statusText(sent)).toBe(said);
    expect(sent.task?.artifacts?.[0]?.parts).toEqual(artifact);
  });

  it.each<[string, string[]]>([
    ["tck-stream-001", ["SUBMITTED", "WORKING", "Stream hello from TCK", "COMPLETED"]],
    ["tck-stream-002", ["SUBMITTED", "COMPLETED"]],
    ["tck-stream-003", ["SUBMITTED", "WORKING", "Stream task lifecycle", "COMPLETED"]],
    ["tck-stream-ordering-001", ["SUBMITTED", "WORKING", "Ordered output", "COMPLETED"]],
    ["tck-stream-basic", ["SUBMITTED", "WORKING", "Basic stream output", "COMPLETED"]],
    ["tck-stream-artifact-text", ["SUBMITTED", "WORKING", "Streamed text content", "COMPLETED"]],
    ["tck-stream-artifact-file", ["SUBMITTED", "WORKING", "", "COMPLETED"]],
    ["tck-stream-artifact-chunked", ["SUBMITTED", "WORKING", "chunk-1 ", "chunk-2", "COMPLETED"]],
    ["tck-stream-chunked", ["SUBMITTED", "WORKING", "chunk-1 ", "chunk-2", "COMPLETED"]],
    ["tck-message-response", ["Direct message response"]],
  ])("%s by text, as a stream", async (name, expected) => {
    const events = await collect(sendStreaming(url, `${name} please`));
    expect(shape(events)).toEqual(expected);
    const chunks = events.flatMap(({ artifactUpdate }) => artifactUpdate ?? []);
    if (name.endsWith("chunked")) {
      expect(chunks).toMatchObject([{}, { append: true, lastChunk: true }]);
      expect(chunks[0]?.artifact.artifactId).toBe(chunks[1]?.artifact.artifactId);
    }
  });

  it("asks again in every turn until a text begins with done", async () => {
    const { task } = await trigger("tck-multi-turn");
    for (const text of ["more", "and more"]) {
      const again = await send(url, text, { message: { taskId: task?.id } });
      expect(again.task?.status).toMatchObject({ state: "TASK_STATE_INPUT_REQUIRED" });
      expect(statusText(again)).toBeUndefined();
    }
    const last = await send(url, "done now", { message: { taskId: task?.id } });
    expect(last.task).toMatchObject({ id: task?.id, status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("stays at input-required, and is completed by a follow-up that says so", async () => {
    const { task } = await trigger("tck-input-required");
    const again = await trigger("tck-input-required", { message: { taskId: task?.id } });
    expect(again.task).toMatchObject({ id: task?.id, status: { state: "TASK_STATE_INPUT_REQUIRED" } });
    const done = await trigger("tck-complete-task", { message: { taskId: task?.id } });
    expect(done.task).toMatchObject({ id: task?.id, status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("works until it is cancelled", async () => {
    const { task } = await trigger("tck-cancel", { returnImmediately: true });
    const headers = { "a2a-version": "1.0" };
    const response = await fetch(`${url}/tasks/${task?.id}:cancel`, { method: "POST", headers });
    expect(await response.json()).toMatchObject({ status: { state: "TASK_STATE_CANCELED" } });
  });

  it.each([
    ["tck-long-running", 4900, 1],
    ["test-resubscribe-message-id", 3900, 0],
  ])("%s takes its time", async (name, leastMs, artifacts) => {
    const start = performance.now();
    const { task } = await trigger(name);
    expect(performance.now() - start).toBeGreaterThan(leastMs);
    expect(task?.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task?.artifacts ?? []).toHaveLength(artifacts);
  });

  it("serves JSON-RPC and REST at their mounts, with and without a slash at the end", async () => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: { pageSize: 1 } });
    for (const path of ["", "/", "/jsonrpc", "/jsonrpc/"]) {
      const response = await fetch(`${url}${path}`, { method: "POST", headers, body });
      expect(await response.json()).toMatchObject({ id: 1, result: { pageSize: 1 } });
    }
    expect(await (await fetch(`${url}/rest/tasks?pageSize=1`, { headers })).json()).toMatchObject({
      pageSize: 1,
    });
  });

  it("gives its extended card to everybody, as the profile says", async () => {
    const response = await fetch(`${url}/extendedAgentCard`, { headers: { "a2a-version": "1.0" } });
    expect(await response.json()).toMatchObject({
      description: expect.stringContaining("extended card") as string,
      capabilities: { streaming: true, extendedAgentCard: true },
    });
  });

  describe("instructions", () => {
    type Encoded = Uint8Array<ArrayBufferLike>;
    const nested = (number: number, content: Encoded): Encoded =>
      new BinaryWriter().tag(number, 2).bytes(content).finish();
    const join = (...parts: readonly Encoded[]): Encoded => Buffer.concat(parts);
    const response = (text: string, hold = false): Encoded =>
      nested(
        2,
        join(
          nested(1, Buffer.from(text)),
          hold ? new BinaryWriter().tag(2, 0).bool(true).finish() : new Uint8Array(),
        ),
      );
    const steps = (...each: readonly Encoded[]): Encoded =>
      nested(3, join(...each.map((one) => nested(1, one)), new BinaryWriter().tag(2, 0).int32(1).finish()));
    const callAgent: Encoded = nested(1, nested(1, Buffer.from("jsonrpc")));

    const instruct = (
      bytes: Encoded,
      part: object = { mediaType: "application/x-protobuf" },
      options: SendOptions = {},
    ) =>
      send(url, "", {
        ...options,
        message: { parts: [{ raw: Buffer.from(bytes).toString("base64"), ...part }] },
      });

    it.each([
      ["one response", response("a"), "COMPLETED", "a"],
      ["an empty response", nested(2, new Uint8Array()), "COMPLETED", ""],
      [
        "steps, joined in order",
        steps(response("a"), steps(response("b"), response("c"))),
        "COMPLETED",
        "a\nb\nc",
      ],
      ["a response that would be held outside of steps", response("a", true), "COMPLETED", "a"],
      [
        "a call to another agent",
        steps(response("a"), callAgent),
        "FAILED",
        "This agent does not call other agents.",
      ],
      ["nonsense", Buffer.from([0xff, 0xff]), "FAILED", "The instruction cannot be read."],
    ])("%s", async (_name, bytes, state, said) => {
      const sent = await instruct(bytes);
      expect(sent.task?.status.state).toBe(`TASK_STATE_${state}`);
      expect(statusText(sent)).toBe(said);
    });

    it("are found by file name, and in base64 text", async () => {
      expect(statusText(await instruct(response("a"), { filename: "instruction.bin" }))).toBe("a");
      const text = Buffer.from(response("b")).toString("base64");
      const parts = [{ text: "first" }, { text, mediaType: "application/x-protobuf" }];
      expect(statusText(await send(url, "", { message: { parts } }))).toBe("b");
    });

    it("hold their task until it is cancelled", async () => {
      const { task } = await instruct(steps(response("a"), response("b", true)), undefined, {
        returnImmediately: true,
      });
      const id = String(task?.id);
      await vi.waitFor(async () => {
        const now = await getTask(url, id);
        expect(now.status.state).toBe("TASK_STATE_WORKING");
        expect(now.status.message?.parts).toEqual([{ text: "a\nb\ntask-finished" }]);
      });
      await fetch(`${url}/tasks/${id}:cancel`, { method: "POST", headers: { "a2a-version": "1.0" } });
      expect((await getTask(url, id)).status.state).toBe("TASK_STATE_CANCELED");
    });
  });
});

describe("conformance agent's other profiles", () => {
  let workplace: Workplace;
  beforeEach(() => {
    workplace = createWorkplace();
  });
  afterEach(() => workplace.close());

  const cardOf = async (url: string) =>
    (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as { capabilities: object };

  it("S2-09 none.yaml offers nothing that is optional", async () => {
    const url = await serveExample(workplace, "conformance-agent", "none.yaml");
    const { capabilities } = await cardOf(url);
    expect(capabilities).toEqual({ streaming: false, pushNotifications: false, extendedAgentCard: false });
    expect((await send(url, "tck-complete-task")).task?.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("S0-22 required-extension.yaml refuses callers that do not declare it", async () => {
    const url = await serveExample(workplace, "conformance-agent", "required-extension.yaml");
    const uri = "urn:a2a:tck:required-extension";
    expect(await cardOf(url)).toMatchObject({ capabilities: { extensions: [{ uri, required: true }] } });
    expect((await send(url, "tck-complete-task")).error).toMatchObject({ code: 400 });
    const headers = { "content-type": "application/json", "a2a-version": "1.0", "a2a-extensions": uri };
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "tck-complete-task" }] };
    const request = { method: "POST", headers, body: JSON.stringify({ message }) };
    expect(await (await fetch(`${url}/message:send`, request)).json()).toMatchObject({
      task: { status: { state: "TASK_STATE_COMPLETED" } },
    });
  });
});
