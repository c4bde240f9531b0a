import type { Reply } from "../../core/context.js";
import type { EventIterator } from "../../protocol/event.js";
import { toRestBody } from "../../protocol/status.js";
import type { HttpResponse } from "../http.js";
import { type SseForm, sse } from "../sse.js";
import type { Answering } from "./response.js";
import { fieldJson } from "./response-body.js";
import type { Route } from "./routes.js";

/** The answer to a streaming call, once its first event is there. Rejects when the stream fails before that. */
export function streamResponse(
  { responseField }: Route,
  { events, headers }: Extract<Reply, { kind: "stream" }>,
  { request, traffic, heartbeatMs }: Answering & { readonly heartbeatMs: number | undefined },
): Promise<HttpResponse> {
  return sse(events, {
    headers,
    traffic,
    heartbeatMs,
    caller: request.caller,
    form: responseField ? { ...WHOLE, write: ({ response }) => fieldJson(responseField, response) } : WHOLE,
  });
}

const WHOLE: SseForm = { write: ({ json }) => json, fail: toRestBody, failureType: "error" };

/** The same events; `ended` is called once when they are over or their reader leaves. */
export function watchEnd<T>(events: AsyncIterable<T>, ended: () => void): AsyncIterable<T> {
  const source: EventIterator<T> = events[Symbol.asyncIterator]();
  const iterator: EventIterator<T> = {
    take() {
      try {
        return source.take?.();
      } catch (thrown) {
        ended();
        throw thrown;
      }
    },
    async next() {
      try {
        const step = await source.next();
        if (step.done) ended();
        return step;
      } catch (thrown) {
        ended();
        throw thrown;
      }
    },
    async return() {
      ended();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
