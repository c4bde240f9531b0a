/** REST: HTTP requests as RPC requests by the google.api.http annotations (docs/rest.md). */
import type { DescService } from "@bufbuild/protobuf";
import type { Call, Dispatcher, Reply } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { endReason } from "../../protocol/ending.js";
import { A2AService } from "../../protocol/schema.js";
import { BoundCall } from "../call.js";
import { createDeadline, type Deadline, parseTimeout } from "../deadline.js";
import { type HttpBinding, type HttpRequest, type HttpResponse, parametersOf } from "../http.js";
import { readMessage } from "./request.js";
import { type Answering, errorResponse, headOf, optionsResponse, unaryResponse } from "./response.js";
import { streamResponse, watchEnd } from "./stream.js";
import { createTranscoder, type Match, type TranscoderOptions } from "./transcoder.js";

export type { Route } from "./routes.js";
export { createTranscoder, type Match, type Transcoder } from "./transcoder.js";

/** What REST serves and within which limits. */
export interface RestBindingOptions extends TranscoderOptions {
  readonly dispatcher: Dispatcher;
  /** Services whose annotations are served. Default: A2AService. */
  readonly services?: readonly DescService[] | undefined;
  /** Largest request body in bytes, decompressed. */
  readonly maxBytes: number;
  /** Milliseconds of silence after which a stream shows that it is alive. Default 15 000. */
  readonly heartbeatMs?: number | undefined;
  /** Told once about each annotation that works but is better avoided. */
  readonly warn?: ((text: string) => void) | undefined;
}

/**
 * The REST binding. It takes every address of the annotations, whatever the HTTP method, and leaves the rest.
 * Throws an Error naming RPC and template when an annotation is not sound.
 */
export function createRestBinding(options: RestBindingOptions): HttpBinding {
  const { dispatcher, services = [A2AService], maxBytes, heartbeatMs, warn } = options;
  const transcoder = createTranscoder(services, options);
  for (const warning of transcoder.warnings) warn?.(warning);

  async function answer(match: Match, request: HttpRequest): Promise<HttpResponse> {
    const answering: Answering = { request, traffic: { received: 0, sent: 0 } };
    let call: Call;
    let deadline: Deadline | undefined;
    try {
      deadline = deadlineOf(request);
      call = await createCall(match, answering, deadline);
    } catch (thrown) {
      deadline?.clear();
      return refuse(thrown, answering, match);
    }
    return await perform(match, call, { answering, deadline });
  }

  async function createCall(
    match: Match,
    { request, traffic }: Answering,
    deadline: Deadline | undefined,
  ): Promise<Call> {
    const message = await readMessage(match, request, { maxBytes, traffic });
    if (deadline?.caller.aborted) throw endReason(deadline.caller);
    return new BoundCall({
      wire: "rest",
      method: match.method,
      request: message,
      parameters: parametersOf(request.headers),
      queryVersion: match.queryVersion,
      caller: deadline?.caller ?? request.caller,
      traffic,
    });
  }

  async function perform(
    { route }: Match,
    call: Call,
    { answering, deadline }: { readonly answering: Answering; readonly deadline: Deadline | undefined },
  ): Promise<HttpResponse> {
    let reply: Reply;
    try {
      reply = await dispatcher.call(call);
      if (reply.kind === "stream") {
        const events = deadline ? watchEnd(reply.events, deadline.clear) : reply.events;
        const { kind, headers } = reply;
        return await streamResponse(route, { kind, events, headers }, { ...answering, heartbeatMs });
      }
      deadline?.clear();
    } catch (thrown) {
      // The dispatcher has reported it.
      deadline?.clear();
      return errorResponse(A2AError.from(thrown), answering);
    }
    try {
      const { request, traffic } = answering;
      return await unaryResponse(route, reply.message, { request, traffic, headers: reply.headers });
    } catch (thrown) {
      return refuse(thrown, answering, { method: call.method });
    }
  }

  function refuse(thrown: unknown, answering: Answering, match?: Pick<Match, "method">): HttpResponse {
    const { traffic } = answering;
    const method = match && { method: match.method };
    return errorResponse(dispatcher.refuse({ wire: "rest", traffic, ...method }, thrown), answering);
  }

  function take(request: HttpRequest): Promise<HttpResponse> | undefined {
    const found = transcoder.match(request);
    if (found.kind === "match") return answer(found, request);
    if (found.kind === "options") return Promise.resolve(optionsResponse(found.allow));
    if (found.problem === "no route") return undefined;
    return Promise.resolve(refuse(found.error, { request, traffic: { received: 0, sent: 0 } }));
  }

  return (request) => {
    const taken = take(request);
    return request.method === "HEAD" ? taken?.then(headOf) : taken;
  };
}

function deadlineOf(request: HttpRequest): Deadline | undefined {
  const timeout = parametersOf(request.headers)("grpc-timeout");
  return timeout === undefined ? undefined : createDeadline(request.caller, parseTimeout(timeout));
}
