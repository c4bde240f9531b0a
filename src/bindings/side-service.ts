import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";

/** A service that a port answers by itself, beside the dispatcher: health, reflection. */
export interface SideService {
  readonly service: DescService;
  /**
   * Answers one call: a request at a time, the answers as they are ready. Fails with A2AError only. The answers
   * end by themselves when the signal aborts.
   */
  answer(method: DescMethod, requests: AsyncIterable<Message>, signal: AbortSignal): AsyncIterable<Message>;
}
