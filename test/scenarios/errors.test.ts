import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Middleware } from "../../src/core/middleware.js";
import { A2AError, ERRORS, type ErrorRow, type Reason } from "../../src/errors.js";
import type { WireEvent } from "../../src/protocol/event.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import { type NeutralError, WIRES, type WireClient } from "../support/wires/index.js";
import { statesNumbers } from "../support/wires/neutral.js";

const ROWS = [...ERRORS.values()];
const SEND = { message: { messageId: "", role: "ROLE_USER", parts: [{ text: "go" }] } };
const SECRET = "/home/secret postgres://user:password@host";

/** Fails as the caller's headers ask: at once, or after the first event of a stream. */
const failing: Middleware = async (context, _request, next) => {
  const before = context.parameters("x-fail");
  if (before !== undefined) throw failureOf(before);
  const reply = await next();
  const after = context.parameters("x-fail-late");
  if (after === undefined || reply.kind === "unary") return reply;
  return { ...reply, events: failAfterFirst(reply.events, failureOf(after)) };
};

async function* failAfterFirst(events: AsyncIterable<WireEvent>, error: unknown): AsyncGenerator<WireEvent> {
  for await (const event of events) {
    yield event;
    throw error;
  }
}

function failureOf(name: string): unknown {
  if (name === "unexpected") return new TypeError(SECRET);
  if (name !== "detailed") return new A2AError(name as Reason);
  return new A2AError("EXTENSION_SUPPORT_REQUIRED", {
    text: 'line one\nline two: ü 😀 % "quoted"',
    violations: [
      { field: "message.parts[0]", description: "is no good" },
      { field: "metadata", description: "neither" },
    ],
    metadata: { uri: "https://example.com/ext", empty: "" },
    retryAfterMs: 1500,
  });
}

let gateway: TestGateway;
let next = 0;

beforeAll(async () => {
  const agent = createScriptedAgent({ go: [{ done: "COMPLETED" }] });
  gateway = await startGateway({ agents: [{ agent }], middleware: [failing] });
});

afterAll(() => gateway.close());

/** A send that the middleware fails; every send is a new message. */
function request() {
  next += 1;
  return { message: { ...SEND.message, messageId: `m${next}` } };
}

async function unary(client: WireClient, headers: Record<string, string>): Promise<NeutralError> {
  const answer = await client.call("SendMessage", request(), { headers });
  assert.ok(answer.kind === "error", JSON.stringify(answer));
  return answer.error;
}

async function streamed(client: WireClient, headers: Record<string, string>) {
  const stream = client.stream("SendStreamingMessage", request(), { headers });
  let events = 0;
  for (let step = await stream.next(); ; step = await stream.next(), events += 1) {
    assert.ok(step.kind !== "end", "the stream fails");
    if (step.kind === "error") return { error: step.error, first: step.first, events };
  }
}

function expectRow(error: NeutralError, row: ErrorRow): void {
  expect({ code: error.code, reason: error.reason, message: error.message }).toEqual({
    code: row.code,
    reason: row.info,
    message: row.text,
  });
  expect(statesNumbers(row, error.numbers), JSON.stringify(error.numbers)).toBe(true);
}

describe.each(WIRES)("the error table over $name", (wire) => {
  let client: WireClient;
  beforeAll(() => {
    client = wire.connect(gateway);
  });
  afterAll(() => client.close());

  test.each(ROWS)("S1-01 S1-04 $reason as a unary answer, before a stream and within one", async (row) => {
    expectRow(await unary(client, { "x-fail": row.reason }), row);
    const before = await streamed(client, { "x-fail": row.reason });
    expectRow(before.error, row);
    expect(before.first).toBe(true);
    const late = await streamed(client, { "x-fail-late": row.reason });
    expectRow(late.error, row);
    expect(late).toMatchObject({ first: false, events: 1 });
  });

  test("S1-04 every detail of an error arrives", async () => {
    const expected = {
      code: "FAILED_PRECONDITION",
      reason: "EXTENSION_SUPPORT_REQUIRED",
      message: 'line one\nline two: ü 😀 % "quoted"',
      metadata: { uri: "https://example.com/ext", empty: "" },
      violations: [
        { field: "message.parts[0]", description: "is no good" },
        { field: "metadata", description: "neither" },
      ],
      retryAfterMs: 1500,
    };
    expect(await unary(client, { "x-fail": "detailed" })).toMatchObject(expected);
    expect((await streamed(client, { "x-fail": "detailed" })).error).toMatchObject(expected);
    expect((await streamed(client, { "x-fail-late": "detailed" })).error).toMatchObject(expected);
  });

  test("S0-24 an unexpected exception is Internal with a fixed text and an error id", async () => {
    const seen = [
      await unary(client, { "x-fail": "unexpected" }),
      (await streamed(client, { "x-fail": "unexpected" })).error,
      (await streamed(client, { "x-fail-late": "unexpected" })).error,
    ];
    for (const error of seen) {
      expectRow(error, ERRORS.get("INTERNAL") as ErrorRow);
      expect(error.errorId).toMatch(/^[0-9a-f-]{36}$/);
      expect(JSON.stringify(error)).not.toContain("secret");
    }
    expect(new Set(seen.map(({ errorId }) => errorId)).size).toBe(3);
  });
});
