import { expect, it } from "vitest";
import type { Agent, Outcome, Progress } from "../../../src/agents/agent.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { createDeferred } from "../../../src/core/async.js";
import { logOf } from "../../../src/core/log.js";
import { A2AError } from "../../../src/errors.js";
import { TaskState } from "../../../src/protocol/schema.js";
import { createTestEngine } from "../../support/engine.js";
import { taskOf } from "../../support/outcomes.js";

const { card } = createEchoAgent();

it("leaves turns of the event loop to others while an agent works that never waits", async () => {
  let stopped = false;
  let reported = 0;
  async function* busy(): AsyncGenerator<Progress, Outcome> {
    for (; !stopped && reported < 10_000; reported += 1) yield { kind: "status", state: TaskState.WORKING };
    return { state: TaskState.COMPLETED };
  }
  const agent: Agent = { card, answer: async () => ({ kind: "task", work: busy() }) };
  const { send } = createTestEngine({}, { agent });
  setTimeout(() => {
    stopped = true;
  }, 1);
  expect(taskOf(await send("go")).status?.state).toBe(TaskState.COMPLETED);
  expect(reported).toBeLessThan(5_000);
});

it("tells a reader that comes in the turn of a commit that its task was deleted", async () => {
  const { send, engine, store } = createTestEngine({ ask: [{ done: "INPUT_REQUIRED" }] });
  const scope = { tenant: "", owner: "alice" };
  const { id } = taskOf(await send("ask"));
  const states = [TaskState.INPUT_REQUIRED];
  expect(await store.expire({ states, beforeMs: Number.MAX_SAFE_INTEGER, limit: 10 })).toBe(1);
  const next = engine.log.read(logOf(scope, id), 2, new AbortController().signal).next();
  await engine.log.recheck();
  await expect(next).rejects.toMatchObject({ reason: "TASK_NOT_FOUND" });
  expect(engine.log.readerCount()).toBe(0);
});

it("records a stream whose caller left before it began, and leaves no reader behind", async () => {
  const asked = createDeferred<void>();
  const go = createDeferred<void>();
  const agent: Agent = {
    card,
    async answer(turn, signal) {
      asked.resolve();
      await go.promise;
      return createEchoAgent().answer(turn, signal);
    },
  };
  const { call, engine, records } = createTestEngine({}, { agent });
  const caller = new AbortController();
  const message = { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "x" } }] };
  const answered = call("sendStreamingMessage", { message }, { signal: caller.signal });
  await asked.promise;
  caller.abort();
  go.resolve();
  const error = await answered.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(A2AError);
  expect(error).toMatchObject({ reason: "CANCELLED" });
  expect(records.map(({ code, stream }) => ({ code, stream }))).toEqual([
    { code: "CANCELLED", stream: false },
  ]);
  expect(engine.log.readerCount()).toBe(0);
});
