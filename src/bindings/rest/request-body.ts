import { create, type DescField, type DescMessage, type JsonValue, type Message } from "@bufbuild/protobuf";
import { A2AError } from "../../errors.js";
import { parseJson, readJson, readJsonValue } from "../../protocol/json/index.js";
import type { Failure } from "./failure.js";
import { byProtoName, setValue } from "./fields.js";
import { isHttpBody, type Route } from "./routes.js";

/** A request body, decompressed. */
export interface RequestBody {
  readonly bytes: Uint8Array;
  /** As sent; only google.api.HttpBody looks at it. */
  readonly contentType?: string | undefined;
}

/** A decoded request, or why it could not be. */
export type Decoded = { readonly kind: "message"; readonly message: Message } | Failure;

/** How strictly a body is read. */
export interface BodyReading {
  readonly strict: boolean;
  /** Levels of objects and lists. */
  readonly maxDepth: number;
}

/** True where the body is taken as it is, whatever its media type. */
export function takesRawBody(route: Route): boolean {
  return rawTypeOf(route) !== undefined;
}

/** The request message as far as the body fills it. An empty body is an empty message, and so is `null`. */
export function readRequestBody(route: Route, body: RequestBody, options: BodyReading): Decoded {
  try {
    return { kind: "message", message: fill(route, body, options) };
  } catch (thrown) {
    return { kind: "failure", problem: "bad body", error: A2AError.from(thrown) };
  }
}

function fill(route: Route, body: RequestBody, options: BodyReading): Message {
  const { input } = route.method;
  const raw = rawTypeOf(route);
  if (raw) return fillRaw(route, raw, body);
  if (route.body.kind === "none" || body.bytes.byteLength === 0) return create(input);
  if (route.body.kind === "message") {
    return isNull(body.bytes) ? create(input) : readJson(input, body.bytes, options);
  }
  const value = parseJson(body.bytes, { exact: true, maxDepth: options.maxDepth });
  return readJsonValue(input, asField(route.body.field, value), options);
}

/** What the official Go client sends where it has nothing to send; see docs/interop.md. */
function isNull(bytes: Uint8Array): boolean {
  return bytes.byteLength === 4 && Buffer.from(bytes.buffer, bytes.byteOffset, 4).equals(NULL);
}

const NULL = Buffer.from("null");

function rawTypeOf({ method, body }: Route): DescMessage | undefined {
  if (body.kind === "none") return undefined;
  if (body.kind === "message") return isHttpBody(method.input) ? method.input : undefined;
  const { field } = body;
  return field.fieldKind === "message" && isHttpBody(field.message) ? field.message : undefined;
}

function asField(field: DescField, value: JsonValue): JsonValue {
  return { [field.jsonName]: value };
}

function fillRaw({ method, body }: Route, type: DescMessage, { bytes, contentType }: RequestBody): Message {
  const raw = create(type);
  setValue(raw, byProtoName(type, "content_type") as DescField, contentType ?? "");
  setValue(raw, byProtoName(type, "data") as DescField, bytes);
  if (body.kind !== "field") return raw;
  const message = create(method.input);
  setValue(message, body.field, raw);
  return message;
}
