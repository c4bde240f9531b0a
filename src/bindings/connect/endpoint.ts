import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { Call, Dispatcher, ReplyHeaders } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { BoundCall, type CallInit } from "../call.js";
import type { SideService } from "../side-service.js";
import type { Outgoing } from "./codec.js";

/** What is known about a call besides its method and its requests. */
export type RpcCall = Pick<CallInit, "wire" | "parameters" | "queryVersion" | "caller" | "traffic">;

/** An answer: one message that is there, or messages that begin to come and may fail at the first already. */
export type Answer =
  | { readonly kind: "unary"; readonly headers: ReplyHeaders; readonly message: Outgoing }
  | { readonly kind: "stream"; readonly headers: ReplyHeaders; readonly messages: AsyncIterable<Outgoing> };

/** One method at its path. */
export interface Endpoint {
  readonly method: DescMethod;
  /** Reads the requests as far as the method takes them. Rejects with A2AError only. */
  answer(requests: AsyncIterable<Message>, call: RpcCall): Promise<Answer>;
  /** Reports a call that failed before `answer`; returns the error to send. */
  refuse(thrown: unknown, call: Pick<RpcCall, "wire" | "traffic">): A2AError;
}

/** The A2A version that the package name of the service states. */
const IMPLIED_VERSION = "1.0";

/** Every method of these services, by path. */
export function createEndpoints(
  dispatcher: Dispatcher,
  services: readonly DescService[],
  sides: readonly SideService[],
): ReadonlyMap<string, Endpoint> {
  const dispatched = services.flatMap((service) =>
    service.methods.map((method) => dispatchedEndpoint(dispatcher, method)),
  );
  const answered = sides.flatMap((side) => side.service.methods.map((method) => sideEndpoint(side, method)));
  return new Map([...dispatched, ...answered].map((endpoint) => [pathOfMethod(endpoint.method), endpoint]));
}

function pathOfMethod({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

function dispatchedEndpoint(dispatcher: Dispatcher, method: DescMethod): Endpoint {
  const refuse: Endpoint["refuse"] = (thrown, { wire, traffic }) =>
    dispatcher.refuse({ wire, traffic, method }, thrown);
  return {
    method,
    refuse,
    async answer(requests, call) {
      let request: Message;
      try {
        request = await single(requests);
      } catch (thrown) {
        throw refuse(thrown, call);
      }
      const reply = await dispatcher.call(callOf(method, request, call));
      const { kind, headers } = reply;
      return kind === "unary"
        ? { kind, headers, message: reply.message }
        : { kind, headers, messages: reply.events };
    },
  };
}

function callOf(method: DescMethod, request: Message, call: RpcCall): Call {
  const { wire, parameters, queryVersion, caller, traffic } = call;
  return new BoundCall({
    wire,
    method,
    request,
    parameters,
    impliedVersion: IMPLIED_VERSION,
    queryVersion,
    caller,
    traffic,
  });
}

function sideEndpoint(side: SideService, method: DescMethod): Endpoint {
  return {
    method,
    refuse: A2AError.from,
    answer: (requests, { caller }) =>
      Promise.resolve({
        kind: "stream",
        headers: {},
        messages: side.answer(method, requests, caller.signal),
      }),
  };
}

/** Another number of messages than one is UNIMPLEMENTED, as gRPC has it. */
async function single(requests: AsyncIterable<Message>): Promise<Message> {
  let found: Message | undefined;
  for await (const request of requests) {
    if (found !== undefined)
      throw new A2AError("METHOD_NOT_FOUND", { text: "The method takes one message." });
    found = request;
  }
  if (found === undefined) throw new A2AError("METHOD_NOT_FOUND", { text: "The method takes a message." });
  return found;
}
