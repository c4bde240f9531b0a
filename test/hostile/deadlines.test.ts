import { fromJson, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SendMessageRequestSchema } from "../../src/protocol/schema.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { openSocket, rawRequest } from "../support/raw-socket.js";
import { createScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.js";
import { WIRES } from "../support/wires/index.js";
import { RAW_WIRES, type RawClient } from "./raw-wires.js";

const REQUEST = { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "wait" }] } };
const BYTES = {
  json: Buffer.from(JSON.stringify(REQUEST)),
  protobuf: toBinary(SendMessageRequestSchema, fromJson(SendMessageRequestSchema, REQUEST)),
};

/** Wires that have deadlines, with the header that states one of 100 ms: no client takes the time but the gateway. */
const TIMED = RAW_WIRES.filter(({ name }) => !name.startsWith("jsonrpc")).map((wire) => ({
  ...wire,
  header: wire.name.startsWith("connect") ? "connect-timeout-ms" : "grpc-timeout",
  value: wire.name.startsWith("connect") ? "100" : "100m",
}));

let gateway: TestGateway;
let agent: ScriptedAgent;

beforeEach(async () => {
  agent = createScriptedAgent({ wait: [{ status: "WORKING" }, { gate: "go" }, { done: "COMPLETED" }] });
  gateway = await startGateway({ agents: [{ agent }] });
});
afterEach(() => gateway.close());

async function expectRunGoesOn(): Promise<void> {
  expect(agent.record.aborted).toBe(0);
  agent.gates.open("go");
  await agent.idle();
  const client = (WIRES[0] as (typeof WIRES)[number]).connect(gateway);
  const id = agent.record.turns[0]?.taskId ?? "";
  expect(await client.call("GetTask", { id })).toMatchObject({
    message: { status: { state: "TASK_STATE_COMPLETED" } },
  });
  await client.close();
}

describe.each(TIMED)("a deadline over $name", ({ name, form, header, value, connect }) => {
  let client: RawClient;
  beforeEach(() => {
    client = connect(gateway);
  });
  afterEach(() => client.close());

  test("ends a call that waits, and not the run", async () => {
    const answer = await client.ask({
      method: "SendMessage",
      message: BYTES[form],
      headers: { [header]: value },
    });
    expect(answer).toMatchObject({ kind: "error", error: { code: "DEADLINE_EXCEEDED" } });
    await expectRunGoesOn();
  });

  test("that has no meaning is refused", async () => {
    const answer = await client.ask({
      method: "SendMessage",
      message: BYTES[form],
      headers: { [header]: "soon" },
    });
    const code = name === "grpc" ? "INTERNAL" : "INVALID_ARGUMENT"; // grpc-js refuses it by itself
    expect(answer).toMatchObject({ kind: "error", error: { code } });
    expect(agent.record.started).toBe(0);
  });

  test("of no time ends the call, and nobody is left with how its work ended", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    const answer = await client.ask({
      method: "GetTask",
      message: Buffer.from("{ no message"),
      headers: { [header]: value.replace("100", "0") },
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", note);
    expect(answer).toMatchObject({ kind: "error" });
    expect(unhandled).toEqual([]);
  });
});

describe("a caller that leaves while it waits for its answer", () => {
  test.each([
    ["jsonrpc", "POST /", JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: REQUEST })],
    ["rest", "POST /message:send", JSON.stringify(REQUEST)],
  ])("over %s does not end the run", async (_wire, line, body) => {
    const raw = await openSocket(gateway.http);
    raw.write(rawRequest(line, ["content-type: application/json", "a2a-version: 1.0"], body));
    await agent.gates.reached("go");
    raw.destroy();
    await expectRunGoesOn();
  });
});
