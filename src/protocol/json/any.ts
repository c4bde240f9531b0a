import { createRegistry, type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import {
  type Any,
  file_google_protobuf_duration,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";
import { file_google_rpc_error_details } from "../schema.js";

/** Types that a google.protobuf.Any is opened for; the bytes of others pass through as they are. */
const registry = createRegistry(
  file_google_rpc_error_details,
  file_google_protobuf_duration,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
);

/** The type that a type URL names, when it is known here. */
export function typeOfUrl(typeUrl: string): DescMessage | undefined {
  return registry.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
}

/** The packed message; undefined when its type is not known or its bytes are damaged. */
export function openAny(any: Any): { readonly desc: DescMessage; readonly message: Message } | undefined {
  const desc = typeOfUrl(any.typeUrl);
  if (!desc) return undefined;
  try {
    return { desc, message: fromBinary(desc, any.value) };
  } catch {
    return undefined;
  }
}
