import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { openSocket } from "../support/raw-socket.js";
import { createReaders, type Readers } from "../support/readers.js";
import { createScriptedAgent, type Script, type ScriptedAgent } from "../support/scripted-agent.js";
import { type Step, WIRES, type WireClient, type WireStream } from "../support/wires/index.js";

const SCRIPTS: Readonly<Record<string, Script>> = {
  work: [{ status: "WORKING" }, { gate: "go" }, { artifact: "a1", parts: "x" }, { done: "COMPLETED" }],
};

function send() {
  return { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "work" }] } };
}

let gateway: TestGateway;
let agent: ScriptedAgent;
let readers: Readers;

beforeEach(async () => {
  readers = createReaders();
  agent = createScriptedAgent(SCRIPTS);
  gateway = await startGateway({ agents: [{ agent }], middleware: [readers.watch] });
});
afterEach(() => gateway.close());

async function taskOf(stream: WireStream): Promise<string> {
  const step = await stream.next();
  assert.ok(step.kind === "event", JSON.stringify(step));
  return (step.message as { task: { id: string } }).task.id;
}

async function stateOf(client: WireClient, id: string): Promise<string> {
  const answer = await client.call("GetTask", { id });
  assert.ok(answer.kind === "ok", JSON.stringify(answer));
  return (answer.message as { status: { state: string } }).status.state;
}

async function rest(stream: WireStream): Promise<Step[]> {
  const steps: Step[] = [];
  for (;;) {
    const step = await stream.next();
    steps.push(step);
    if (step.kind !== "event") return steps;
  }
}

async function msUntilGone(leave: () => unknown): Promise<number> {
  const before = performance.now();
  leave();
  await readers.none();
  return performance.now() - before;
}

describe.each(WIRES)("a client that leaves over $name", (wire) => {
  let client: WireClient;
  beforeEach(() => {
    client = wire.connect(gateway);
  });
  afterEach(() => client.close());

  test("S2-05 its reader is gone within 100 ms; the run goes on and is saved", async () => {
    const leaving: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const stream = client.stream("SendStreamingMessage", send());
      const id = await taskOf(stream);
      await agent.gates.reached("go");
      leaving.push(await msUntilGone(() => stream.cancel()));
      agent.gates.open("go");
      await agent.idle();
      expect(await stateOf(client, id)).toBe("TASK_STATE_COMPLETED");
      expect(agent.record.aborted).toBe(0);
      agent.load(SCRIPTS);
    }
    expect(Math.min(...leaving)).toBeLessThan(100); // the least: other processes share the machine
  });

  test("S0-14 whoever subscribes afterwards gets the rest", async () => {
    const stream = client.stream("SendStreamingMessage", send());
    const id = await taskOf(stream);
    await agent.gates.reached("go");
    await msUntilGone(() => stream.cancel());
    const other = wire.connect(gateway);
    const subscription = other.stream("SubscribeToTask", { id });
    expect(await taskOf(subscription)).toBe(id);
    agent.gates.open("go");
    expect((await rest(subscription)).map(({ kind }) => kind)).toEqual(["event", "event", "end"]);
    await other.close();
  });

  test.skipIf(!wire.tags.includes("rpc"))(
    "a deadline that passes ends the reader, and the caller is told",
    async () => {
      const stream = client.stream("SendStreamingMessage", send(), { timeoutMs: 250 });
      const steps = await rest(stream);
      const last = steps.at(-1);
      assert.ok(last?.kind === "error", JSON.stringify(last));
      expect(last.error.code).toBe("DEADLINE_EXCEEDED");
      await readers.none();
      expect(agent.record.aborted).toBe(0);
      agent.gates.open("go");
    },
  );
});

test("a client that leaves with calls in line on its connection leaves nothing open", async () => {
  const body = () =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendStreamingMessage", params: send() });
  const request = (text: string) =>
    `POST / HTTP/1.1\r\nhost: test\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  const socket = await openSocket(gateway.http);
  socket.write(request(body()) + request(body()) + request(body()));
  await agent.gates.reached("go");
  await once(socket.socket, "data");
  socket.destroy();
  await readers.none();
  expect((await gateway.gateway.status()).openStreams).toBe(0);
});
