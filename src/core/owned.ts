import { isMessage, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { A2AError } from "../errors.js";
import { decodeBinary, encodeBinary } from "../protocol/binary/index.js";
import { binaryDepth, DEEPEST, isDeeper } from "../protocol/depth.js";
import { newId } from "../protocol/ids.js";
import type { Artifact, Part } from "../protocol/schema.js";

/**
 * What an agent handed over, checked and copied: nothing malformed gets into a log, and an agent that goes on
 * changing its own objects changes nothing there. All throw INVALID_AGENT_RESPONSE. Messages are written as
 * literals: this is on the way of every chunk, and `create` would cost it ten times as much.
 */

/** The parts of a message or an artifact; at least one, each with its content. */
export function ownedParts(parts: readonly Part[]): Part[] {
  if (!Array.isArray(parts) || parts.length === 0) throw invalidResponse("The agent sent no parts.");
  return parts.map(ownedPart);
}

/** An artifact; it gets an id when it has none. */
export function ownedArtifact(artifact: Artifact): Artifact {
  if (!isObject(artifact)) throw invalidResponse("The agent reported no artifact.");
  const { artifactId = "", name = "", description = "", extensions = [], metadata } = artifact;
  if (!isText(artifactId) || !isText(name) || !isText(description)) {
    throw invalidResponse("The agent sent an artifact whose id, name or description is no text.");
  }
  if (!Array.isArray(extensions) || !extensions.every(isText)) {
    throw invalidResponse("The agent sent an artifact whose extensions are no list of texts.");
  }
  const owned: Artifact = {
    $typeName: "lf.a2a.v1.Artifact",
    artifactId: artifactId || newId(),
    name,
    description,
    parts: ownedParts(artifact.parts),
    extensions: [...extensions],
  };
  return withMetadata(owned, metadata);
}

/** Gives `owner`, which is ours, a copy of the metadata if there is any. Returns it. */
export function withMetadata<Owner extends { metadata?: JsonObject | undefined }>(
  owner: Owner,
  metadata: JsonObject | undefined,
): Owner {
  if (metadata === undefined || metadata === null) return owner;
  if (!isObject(metadata) || Array.isArray(metadata)) {
    throw invalidResponse("The agent sent metadata that is no JSON object.");
  }
  owner.metadata = ownedJson(metadata, 0) as JsonObject;
  return owner;
}

/** The error for an agent that broke its contract. */
export function invalidResponse(text: string, cause?: unknown): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", { text, cause });
}

function ownedPart(part: Part): Part {
  const { content, filename = "", mediaType = "", metadata } = isObject(part) ? part : ({} as Partial<Part>);
  if (!isText(filename) || !isText(mediaType)) {
    throw invalidResponse("The agent sent a part whose filename or media type is no text.");
  }
  const owned: Part = {
    $typeName: "lf.a2a.v1.Part",
    content: ownedContent(content),
    filename,
    mediaType,
  };
  return withMetadata(owned, metadata);
}

function ownedContent(content: Part["content"] | undefined): Part["content"] {
  switch (content?.case) {
    case "text":
    case "url":
      if (isText(content.value)) return { case: content.case, value: content.value };
      break;
    case "raw":
      if (content.value instanceof Uint8Array) return { case: "raw", value: Uint8Array.from(content.value) };
      break;
    case "data":
      if (isMessage(content.value, ValueSchema)) return { case: "data", value: ownedValue(content.value) };
      break;
    default:
  }
  throw invalidResponse("The agent sent a part that holds nothing.");
}

function ownedValue(value: Value): Value {
  try {
    if (isDeeper(ValueSchema, value, DEEPEST)) throw new RangeError("nested too deep");
    return decodeBinary(ValueSchema, encodeBinary(ValueSchema, value), { maxDepth: binaryDepth(DEEPEST) });
  } catch (thrown) {
    throw invalidResponse("The agent sent data that is no JSON value.", thrown);
  }
}

/** Properties that are undefined are left out, as in JSON. */
function ownedJson(value: JsonValue | undefined, depth: number): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (depth >= DEEPEST) throw invalidResponse("The agent sent metadata that is nested too deep.");
  if (Array.isArray(value)) return value.map((each) => ownedJson(each, depth + 1));
  if (!isPlain(value)) throw invalidResponse("The agent sent metadata that is no JSON.");
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries.map(([key, each]) => [key, ownedJson(each, depth + 1)]));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** An object made by a literal or by `JSON.parse`, in whatever realm. */
function isPlain(value: unknown): value is JsonObject {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
