import type { DescMessage, Message } from "@bufbuild/protobuf";
import { encodeBinary } from "../../protocol/binary/index.js";
import { WireEvent } from "../../protocol/event.js";
import { readJson, writeJson } from "../../protocol/json/index.js";
import { decodeBinary } from "../binary.js";

/** What is sent: an event, whose bytes all its readers share, or a message. */
export type Outgoing = WireEvent | Message;

/** How messages are written on the wire. */
export interface Codec {
  /** Throws INVALID_ARGUMENT or PARSE_ERROR for bytes that are no message of this type or deeper than `maxDepth` as JSON. */
  decode(schema: DescMessage, bytes: Uint8Array, maxDepth: number): Message;
  encode(schema: DescMessage, outgoing: Outgoing): Uint8Array;
}

export const PROTO: Codec = {
  decode: decodeBinary,
  encode: (schema, outgoing) =>
    outgoing instanceof WireEvent ? outgoing.binary : encodeBinary(schema, outgoing),
};

/** The same strict reader and REQUIRED-aware writer as on the other JSON wires. */
export const JSON_CODEC: Codec = {
  decode: (schema, bytes, maxDepth) => readJson(schema, bytes, { maxDepth }),
  encode: (schema, outgoing) =>
    Buffer.from(outgoing instanceof WireEvent ? outgoing.json : writeJson(schema, outgoing)),
};
