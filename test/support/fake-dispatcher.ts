import { create } from "@bufbuild/protobuf";
import type { Call, Dispatcher, Reply } from "../../src/core/context.js";
import { A2AError } from "../../src/errors.js";
import { WireEvent } from "../../src/protocol/event.js";
import { StreamResponseSchema, TaskSchema, TaskState } from "../../src/protocol/schema.js";

/** A dispatcher for binding tests: notes what reaches it and answers as told. */
export interface FakeDispatcher extends Dispatcher {
  readonly calls: Call[];
  readonly refusals: { readonly method: string | undefined; readonly error: A2AError }[];
}

/** `answer`: how calls are answered. Default: the task `t1`. */
export function fakeDispatcher(
  answer: (call: Call) => Reply | Promise<Reply> = taskReply,
  tenants: readonly string[] = [],
): FakeDispatcher {
  const calls: Call[] = [];
  const refusals: FakeDispatcher["refusals"] = [];
  return {
    calls,
    refusals,
    hasTenant: (tenant) => tenants.includes(tenant),
    refuse(refused, thrown) {
      const error = A2AError.from(thrown);
      refusals.push({ method: refused.method?.name, error });
      return error;
    },
    async call(call) {
      calls.push(call);
      return answer(call);
    },
  };
}

export function taskReply(): Reply {
  return { kind: "unary", message: create(TaskSchema, { id: "t1" }), headers: {} };
}

/** Status update number `number` of task `t1`. */
export function statusEvent(number: number, state = TaskState.WORKING): WireEvent {
  const value = { taskId: "t1", contextId: "c1", status: { state } };
  return WireEvent.of(create(StreamResponseSchema, { payload: { case: "statusUpdate", value } }), number);
}

export function streamReply(events: AsyncIterable<WireEvent>): Reply {
  return { kind: "stream", events, headers: { "a2a-extensions": "urn:x" } };
}

/** The events, then the failure if there is one. */
export async function* eventsThen(
  events: readonly WireEvent[],
  failure?: unknown,
): AsyncGenerator<WireEvent, void> {
  yield* events;
  if (failure !== undefined) throw failure;
}
