import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { A2AError, invalidField } from "../../errors.js";
import { decodeUtf8, parseJson } from "../../protocol/json/index.js";
import { findId } from "./id-scanner.js";

/** What a text says once it is known to be one JSON-RPC 2.0 request. */
export interface Envelope {
  readonly method: string;
  /** Undefined when the request has none. */
  readonly params: JsonValue | undefined;
}

/** A text that came in, with the id that its answer bears. */
export interface Received {
  /** The id as JSON text, to be echoed as it is; `null` when it cannot be told. */
  readonly id: string;
  readonly envelope: Envelope | A2AError;
}

/** Levels of the envelope itself, around the params. */
const ENVELOPE_DEPTH = 1;

/** Characters of an id. It is sent back with every event of a stream. */
const LONGEST_ID = 1024;

/**
 * Reads one request, whose params may have `maxDepth` levels of objects and lists. What is wrong with it is
 * returned, since its answer needs the id all the same.
 */
export function readEnvelope(source: string | Uint8Array, maxDepth: number): Received {
  let text = "";
  try {
    text = typeof source === "string" ? source : decodeUtf8(source);
    const value = parseJson(text, { maxDepth, outerDepth: ENVELOPE_DEPTH, exact: true });
    const object = asRequest(value);
    const id = idOf(text, object);
    return {
      id: id ?? "null",
      envelope: id === undefined ? invalid(idFault(object)) : checkEnvelope(object),
    };
  } catch (thrown) {
    const error = A2AError.from(thrown);
    const readable = error.reason !== "PARSE_ERROR";
    return { id: (readable ? shortId(findId(text)) : undefined) ?? "null", envelope: relative(error) };
  }
}

function invalid(text: string): A2AError {
  return new A2AError("INVALID_REQUEST", { text });
}

function asRequest(value: JsonValue): JsonObject {
  if (Array.isArray(value)) throw invalid("Batches are not served. Send one request at a time.");
  if (typeof value !== "object" || value === null) throw invalid("A request must be a JSON object.");
  return value;
}

/** Paths in faults of the parameters start at the parameters, as on every wire; other faults are the envelope's. */
function relative(error: A2AError): A2AError {
  const [violation] = error.violations;
  if (error.reason !== "INVALID_ARGUMENT" || violation === undefined) return error;
  const { field, description } = violation;
  if (/^params[.[]/.test(field))
    return invalidField(field.slice("params".length).replace(/^\./, ""), description);
  return invalid(`The member ${field} ${description}.`);
}

/** Strings and null need no look at the text: writing them again gives the same value. */
function idOf(text: string, { id }: JsonObject): string | undefined {
  if (id === undefined) return undefined;
  return shortId(typeof id === "string" || id === null ? JSON.stringify(id) : findId(text));
}

function shortId(id: string | undefined): string | undefined {
  return id !== undefined && id.length <= LONGEST_ID ? id : undefined;
}

function idFault({ id }: JsonObject): string {
  return id === undefined
    ? "A request must have an id."
    : `The id must be a string, a number or null, of at most ${LONGEST_ID} characters.`;
}

function checkEnvelope({ jsonrpc, method, params }: JsonObject): Envelope | A2AError {
  if (jsonrpc !== "2.0") return invalid('The member jsonrpc must be "2.0".');
  if (typeof method !== "string") return invalid("The member method must be a string.");
  return { method, params };
}
