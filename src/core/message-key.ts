import { hash } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { encodeBinary } from "../protocol/binary/index.js";
import { toJsonValue } from "../protocol/json/index.js";
import { type Message, MessageSchema } from "../protocol/schema.js";
import type { MessageKey, Scope } from "../stores/task-store.js";

/**
 * The key under which a send is remembered. Anonymous callers share one owner, so there the digest, of the id as of
 * all the rest, is the key: an equal id with other content is another message, not a conflict.
 */
export function messageKeyOf(scope: Scope, message: Message): MessageKey {
  const digest = digestOf(message);
  return { messageId: scope.owner === "" ? digest : message.messageId, digest };
}

/** SHA-256 of a message's content, the same on every wire: JSON objects inside have no order. */
function digestOf(message: Message): string {
  const content = holdsJson(message)
    ? JSON.stringify(sorted(toJsonValue(MessageSchema, message)))
    : encodeBinary(MessageSchema, message);
  return hash("sha256", content, "base64url");
}

function holdsJson(message: Message): boolean {
  return (
    message.metadata !== undefined ||
    message.parts.some((part) => part.metadata !== undefined || part.content.case === "data")
  );
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] ?? null)]));
}
