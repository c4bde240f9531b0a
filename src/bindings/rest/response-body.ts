import { create, type DescField, type DescMessage, type Message, toJson } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { toJsonValue, writeJson } from "../../protocol/json/index.js";
import { byProtoName, heldIn } from "./fields.js";
import { isHttpBody, type Route } from "./routes.js";

/** What a response message is over HTTP. */
export type ResponseBody =
  | { readonly kind: "json"; readonly text: string }
  | { readonly kind: "raw"; readonly bytes: Uint8Array; readonly contentType: string };

/** The body for a response message, by the route's `response_body`. */
export function responseBodyOf({ method, responseField }: Route, message: Message): ResponseBody {
  if (!responseField) return wholeBody(method.output, message);
  if (isHttpBody(responseField.message)) {
    const held = heldIn(message, responseField) as Message | undefined;
    return wholeBody(
      responseField.message as DescMessage,
      held ?? create(responseField.message as DescMessage),
    );
  }
  return { kind: "json", text: fieldJson(responseField, message) };
}

/** One field of a message as JSON text: what stands for it when it is not set, too, since there is nothing else. */
export function fieldJson(field: DescField, message: Message): string {
  const value = (toJsonValue(field.parent, message) as Record<string, unknown>)[field.jsonName];
  return JSON.stringify(value === undefined ? unsetJson(field) : value);
}

function unsetJson(field: DescField): unknown {
  const { message } = field;
  if (field.fieldKind === "message" && message) {
    return hasCustomJsonRepresentation(message) ? null : toJsonValue(message, create(message));
  }
  const defaults = toJson(field.parent, create(field.parent), { alwaysEmitImplicit: true });
  return (defaults as Record<string, unknown>)[field.jsonName] ?? null;
}

function wholeBody(desc: DescMessage, message: Message): ResponseBody {
  if (!isHttpBody(desc)) return { kind: "json", text: writeJson(desc, message) };
  const contentType = heldIn(message, byProtoName(desc, "content_type") as DescField) as string;
  const bytes = heldIn(message, byProtoName(desc, "data") as DescField) as Uint8Array;
  return { kind: "raw", bytes, contentType: contentType || "application/octet-stream" };
}
