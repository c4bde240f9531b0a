import type { Wire } from "../../core/context.js";
import { type Codec, JSON_CODEC, PROTO } from "./codec.js";

/**
 * How a call is laid out in HTTP. `bare`: Connect unary, the body is the message. The others put each message
 * into an envelope and differ in how the stream ends.
 */
export type Framing = "bare" | "connect" | "grpc-web" | "grpc";

/** What a media type says about a call. */
export interface Format {
  /** The media type itself; answers bear the same. */
  readonly mediaType: string;
  readonly wire: Wire;
  readonly framing: Framing;
  readonly codec: Codec;
  /** gRPC-Web in base64, for clients that cannot read bytes as they come. */
  readonly text: boolean;
}

const FORMATS: ReadonlyMap<string, Format> = new Map(
  [
    format("application/proto", "bare", PROTO),
    format("application/json", "bare", JSON_CODEC),
    format("application/connect+proto", "connect", PROTO),
    format("application/connect+json", "connect", JSON_CODEC),
    format("application/grpc", "grpc", PROTO),
    format("application/grpc+proto", "grpc", PROTO),
    format("application/grpc+json", "grpc", JSON_CODEC),
    format("application/grpc-web", "grpc-web", PROTO),
    format("application/grpc-web+proto", "grpc-web", PROTO),
    format("application/grpc-web+json", "grpc-web", JSON_CODEC),
    format("application/grpc-web-text", "grpc-web", PROTO),
    format("application/grpc-web-text+proto", "grpc-web", PROTO),
  ].map((entry) => [entry.mediaType, entry]),
);

/** The media types of calls, for `accept-post`. */
export const MEDIA_TYPES = [...FORMATS.keys()].join(", ");

function format(mediaType: string, framing: Framing, codec: Codec): Format {
  const wire = framing === "bare" ? "connect" : framing;
  return { mediaType, wire, framing, codec, text: mediaType.includes("-text") };
}

/** The format of a request by its `content-type`; undefined when it is none of ours or not in UTF-8. */
export function formatOf(contentType: string | undefined): Format | undefined {
  if (contentType === undefined) return undefined;
  const known = FORMATS.get(contentType); // nearly all are written like this
  if (known !== undefined) return known;
  const [mediaType = "", ...parameters] = contentType.toLowerCase().split(";");
  const utf8 = parameters.every((text) => !/charset/.test(text) || /^\s*charset="?utf-?8"?\s*$/.test(text));
  return utf8 ? FORMATS.get(mediaType.trim()) : undefined;
}
