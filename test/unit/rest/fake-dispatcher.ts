import { create, type Message } from "@bufbuild/protobuf";
import type { Call, Dispatcher, Reply } from "../../../src/core/context.js";
import { A2AError } from "../../../src/errors.js";

/** A dispatcher that keeps what it is given, and answers as it is told: by default with an empty message. */
export interface FakeDispatcher extends Dispatcher {
  readonly calls: Call[];
  readonly refused: A2AError[];
}

export function fakeDispatcher(answer: (call: Call) => Reply | Promise<Reply> = emptyReply): FakeDispatcher {
  const calls: Call[] = [];
  const refused: A2AError[] = [];
  return {
    calls,
    refused,
    hasTenant: () => true,
    refuse(_, thrown) {
      const error = A2AError.from(thrown);
      refused.push(error);
      return error;
    },
    async call(call) {
      calls.push(call);
      return answer(call);
    },
  };
}

function emptyReply({ method }: Call): Reply {
  if (method.methodKind === "unary") return unaryReply(create(method.output));
  return { kind: "stream", events: { [Symbol.asyncIterator]: noEvents }, headers: {} };
}

export function unaryReply(message: Message, headers: Record<string, string> = {}): Reply {
  return { kind: "unary", message, headers };
}

async function* noEvents(): AsyncGenerator<never, void> {}
