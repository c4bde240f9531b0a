import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { A2AError } from "../errors.js";
import { decodeBinary as decode } from "../protocol/binary/index.js";
import { binaryDepth, isDeeper, tooDeep } from "../protocol/depth.js";

/** Unknown fields of a caller's message. A million of them would fit into its bytes, but hardly into memory. */
const MOST_UNKNOWN = 100_000;

/**
 * Reads protobuf bytes from a caller. Throws INVALID_ARGUMENT for what is no message of this type (malformed or
 * cut bytes, invalid UTF-8), and for a message that would be deeper than `maxDepth` as JSON, exactly as the JSON
 * wires do, or has more than 100 000 unknown fields. Those are kept.
 */
export function decodeBinary<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  maxDepth: number,
): MessageShape<Desc> {
  const message = parse(schema, bytes, maxDepth);
  if (isDeeper(schema, message, maxDepth)) throw tooDeep(maxDepth);
  return message;
}

function parse<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  maxDepth: number,
): MessageShape<Desc> {
  try {
    return decode(schema, bytes, { maxDepth: binaryDepth(maxDepth), maxUnknown: MOST_UNKNOWN });
  } catch (cause) {
    if (cause instanceof Error && cause.message.includes("nested too deep")) throw tooDeep(maxDepth);
    throw new A2AError("INVALID_ARGUMENT", { text: `The message is not a valid ${schema.name}.`, cause });
  }
}
