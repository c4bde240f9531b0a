import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Answer, WireClient, WireStream } from "../wires/index.js";
import { checkTask, type EventJson, isOpen, isTerminal, type KnownTask, type TaskJson } from "./ledger.js";
import { type CutStream, nextPlace, type OpenSend, resumeHeaders } from "./visitor.js";

/** How long a task that is taken up again may take to come to rest. */
const REST_MS = 20_000;

/** A stream that is taken up again, collected as it comes. */
export interface Resumed {
  readonly from: CutStream;
  /** Resolves with the events after `from`, in order, once event `last` has come or the stream has ended. */
  upTo(last: number): Promise<readonly EventJson[]>;
}

/** Takes up a stream that was cut. Its numbers must follow the last one that was seen. */
export function takeUp(client: WireClient, from: CutStream): Resumed {
  const { tenant, taskId, number } = from;
  const options = { headers: resumeHeaders(`${taskId}:${number}`) };
  const stream = client.stream("SubscribeToTask", { tenant, id: taskId }, options);
  return {
    from,
    async upTo(last) {
      const events: EventJson[] = [];
      if (last > number) await collect(stream, from, last, events);
      stream.cancel();
      return events;
    },
  };
}

async function collect(
  stream: WireStream,
  from: CutStream,
  last: number,
  events: EventJson[],
): Promise<void> {
  let place: { taskId: string; number: number } | undefined;
  while (place === undefined || place.number < last) {
    const step = await stream.next();
    assert.equal(
      step.kind,
      "event",
      `a stream taken up at ${from.taskId}:${from.number}, wanted up to ${last}`,
    );
    if (step.kind !== "event") return;
    place = nextPlace(place, step);
    if (events.length === 0) assert.equal(place.number, from.number + 1, "the first event that was missed");
    events.push(step.message as EventJson);
  }
}

/** A task, asked for until no run works on it any more. */
export async function taskAtRest(client: WireClient, { tenant, id }: KnownTask): Promise<TaskJson> {
  const giveUpAt = Date.now() + REST_MS;
  for (;;) {
    const answer = await client.call("GetTask", { tenant, id });
    assert.equal(answer.kind, "ok", `task ${id}, which a client was shown, is lost`);
    const task = (answer as Extract<Answer, { kind: "ok" }>).message as unknown as TaskJson;
    if (!isOpen(task.status.state)) return task;
    assert.ok(Date.now() < giveUpAt, `task ${id} of tenant "${tenant}" stays ${task.status.state}`);
    await delay(10);
  }
}

/** All wire events of a task at rest from the second on, by taking up a stream after the first. */
async function readLog(client: WireClient, known: KnownTask, task: TaskJson): Promise<readonly EventJson[]> {
  const { tenant, id } = known;
  const last = isTerminal(task.status.state) ? undefined : await lastNumber(client, known);
  const stream = client.stream("SubscribeToTask", { tenant, id }, { headers: resumeHeaders(`${id}:1`) });
  const events: EventJson[] = [];
  let place: { taskId: string; number: number } | undefined = { taskId: id, number: 1 };
  while (place.number !== last) {
    const step = await stream.next();
    if (step.kind === "end" && last === undefined) break;
    assert.equal(step.kind, "event", `the log of task ${id}`);
    if (step.kind !== "event") break;
    place = nextPlace(events.length === 0 ? undefined : place, step);
    assert.equal(place.number, events.length + 2, `the log of task ${id} has no gap`);
    events.push(step.message as EventJson);
  }
  stream.cancel();
  return events;
}

/** Number of the last event of a task that waits: a subscription begins with the task, numbered so. */
async function lastNumber(client: WireClient, { tenant, id }: KnownTask): Promise<number> {
  const stream = client.stream("SubscribeToTask", { tenant, id });
  const step = await stream.next();
  stream.cancel();
  assert.equal(step.kind, "event", `a subscription to task ${id}, which waits`);
  return step.kind === "event" ? nextPlace(undefined, step).number : 0;
}

/** Holds a task and its log against what clients saw, and the streams that were taken up against the log. */
export async function verifyTask(
  client: WireClient,
  known: KnownTask,
  resumed: readonly Resumed[],
): Promise<void> {
  const task = await taskAtRest(client, known);
  const log = [known.events.get(1) ?? {}, ...(await readLog(client, known, task))];
  checkTask(known, task, log);
  for (const each of resumed) {
    const missed = await each.upTo(log.length);
    assert.deepEqual(
      missed,
      log.slice(each.from.number),
      `what ${known.id} missed after ${each.from.number}`,
    );
  }
  known.state = task.status.state;
}

/** Sends once more what was left without an answer: it must not be done twice. */
export async function sendAgain(
  client: WireClient,
  { tenant, message }: OpenSend,
): Promise<EventJson | undefined> {
  const request = { tenant, message, configuration: { returnImmediately: true } };
  const answer = await client.call("SendMessage", request);
  if (answer.kind === "error") {
    assert.equal(answer.error.reason, "UNSUPPORTED_OPERATION", JSON.stringify(answer.error));
    assert.ok(message.taskId, "only a message to a task that has ended is refused");
    return undefined;
  }
  const { task } = answer.message as EventJson;
  const expected = task === undefined ? 0 : 1;
  const tasks = await tasksOf(client, tenant, message.contextId as string);
  assert.equal(tasks.length, expected, `message ${message.messageId} led to ${tasks.length} tasks`);
  const count = tasks
    .flatMap(({ history = [] }) => history)
    .filter((each) => each.messageId === message.messageId);
  assert.equal(count.length, expected, `message ${message.messageId} stands in the history`);
  return answer.message as EventJson;
}

async function tasksOf(client: WireClient, tenant: string, contextId: string): Promise<readonly TaskJson[]> {
  const answer = await client.call("ListTasks", { tenant, contextId });
  assert.equal(answer.kind, "ok");
  const { tasks } = (answer as Extract<Answer, { kind: "ok" }>).message as JsonObject;
  return (tasks ?? []) as unknown as readonly TaskJson[];
}

/** Number of all tasks of a tenant. */
export async function totalOf(client: WireClient, tenant: string): Promise<number> {
  const answer = await client.call("ListTasks", { tenant, pageSize: 1 });
  assert.equal(answer.kind, "ok");
  return Number(((answer as Extract<Answer, { kind: "ok" }>).message as JsonObject).totalSize ?? 0);
}
