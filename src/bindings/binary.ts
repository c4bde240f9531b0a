import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { A2AError } from "../errors.js";

/**
 * Reads protobuf bytes from a caller. Throws INVALID_ARGUMENT for what is no message of this type: malformed or
 * cut bytes, invalid UTF-8, nesting beyond 100. Unknown fields are kept.
 */
export function decodeBinary<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new A2AError("INVALID_ARGUMENT", { text: `The message is not a valid ${schema.name}.`, cause });
  }
}
