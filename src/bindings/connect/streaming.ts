import { A2AError } from "../../errors.js";
import type { HttpResponse } from "../http.js";
import type { Outgoing } from "./codec.js";
import { type Ending, endingOf } from "./ending.js";
import type { Format, Framing } from "./format.js";
import { type Opened, type Opening, open } from "./opening.js";
import { inText, pack } from "./pack.js";
import { UntilAborted } from "./until-aborted.js";

type StreamFraming = Exclude<Framing, "bare">;
type Piece = IteratorResult<string | Uint8Array, undefined>;

const DONE: Piece = { done: true, value: undefined };

/** Answers a call in envelopes: gRPC, gRPC-Web, Connect streams. However it ends, that is said after the last message. */
export async function answerStream(opening: Opening, framing: StreamFraming): Promise<HttpResponse> {
  let opened: Opened | undefined;
  try {
    opened = open(opening);
    const answer = await opened.within(opening.endpoint.answer(opened.requests, opened.call));
    const headers = { ...answer.headers, ...headersOf(opening.format, opened) };
    if (answer.kind === "unary") {
      const envelope = await pack(opening, opened, answer.message);
      opened.close();
      return { status: 200, headers, ...wholeOf(opening.format, framing, envelope) };
    }
    const body = createBody(opening, framing, opened, answer.messages);
    return {
      status: 200,
      headers,
      body: { [Symbol.asyncIterator]: () => body },
      ...trailersOf(framing, body.ending),
    };
  } catch (thrown) {
    opened?.close();
    return streamFailure(opening.format, framing, A2AError.from(thrown));
  }
}

/** A call that failed before it could begin, in the caller's framing. */
export function streamFailure(format: Format, framing: StreamFraming, error: A2AError): HttpResponse {
  const ending = endingOf(framing, error);
  return {
    status: 200,
    headers: { "content-type": format.mediaType },
    ...(ending.envelope === undefined ? {} : { body: inText(format, ending.envelope) }),
    ...trailersOf(framing, () => ending),
  };
}

/** An answer of one message, which is there already: nothing has to be waited for or broken off. */
function wholeOf(
  format: Format,
  framing: StreamFraming,
  envelope: string | Uint8Array,
): Pick<HttpResponse, "body" | "trailers"> {
  const ending = endingOf(framing, undefined);
  if (ending.envelope === undefined) return { body: envelope, ...trailersOf(framing, () => ending) };
  return { body: piecesOf([envelope, inText(format, ending.envelope)]) };
}

async function* piecesOf(
  pieces: readonly (string | Uint8Array)[],
): AsyncGenerator<string | Uint8Array, void> {
  yield* pieces;
}

function headersOf({ mediaType }: Format, { compression }: Opened): Record<string, string> {
  const { encoding, accept } = compression.headers;
  const encoded = compression.response ? { [encoding]: "gzip" } : {};
  return { "content-type": mediaType, [accept]: "gzip", ...encoded };
}

function trailersOf(framing: StreamFraming, ending: () => Ending): Pick<HttpResponse, "trailers"> {
  return framing === "grpc" ? { trailers: () => ending().trailers ?? {} } : {};
}

interface Body extends AsyncIterator<string | Uint8Array, undefined> {
  /** How the stream ended; known when the body has. */
  ending(): Ending;
}

/** The envelopes of an answer and the one that ends it. */
function createBody(
  opening: Opening,
  framing: StreamFraming,
  opened: Opened,
  source: AsyncIterable<Outgoing>,
): Body {
  const { format } = opening;
  const { call, close } = opened;
  const messages = new UntilAborted(source, call.caller);
  let ending: Ending | undefined;

  const end = (error: A2AError | undefined): Piece => {
    close();
    ending = endingOf(framing, error);
    return ending.envelope === undefined ? DONE : { done: false, value: inText(format, ending.envelope) };
  };

  return {
    ending: () => ending ?? endingOf(framing, new A2AError("CANCELLED")),
    async next() {
      if (ending !== undefined) return DONE;
      try {
        const step = await messages.next();
        return step.done ? end(undefined) : { done: false, value: await pack(opening, opened, step.value) };
      } catch (thrown) {
        await messages.return();
        return end(A2AError.from(thrown));
      }
    },
    async return() {
      close();
      await messages.return();
      return DONE;
    },
  };
}
