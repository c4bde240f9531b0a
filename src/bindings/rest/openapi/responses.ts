import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { A2AError, CODES, ERRORS, type ErrorRow } from "../../../errors.js";
import { toRestBody } from "../../../protocol/status.js";
import { A2A_JSON, JSON_TYPE } from "../negotiate.js";
import { isHttpBody, type Route } from "../routes.js";
import type { Schemas } from "./schemas.js";

/** Component name of the error envelope. */
const ENVELOPE = "ErrorEnvelope";

/** Rows that no REST caller can see: the caller has left, or the row is about another wire's envelope. */
const UNSEEN = new Set(["CANCELLED", "INVALID_REQUEST", "METHOD_NOT_FOUND"]);

/** The same JSON under both media types. */
export function jsonContent(media: JsonObject): JsonObject {
  return { [A2A_JSON]: media, [JSON_TYPE]: media };
}

/** The responses of an operation: its answer, and every failure there is. */
export function responsesOf(route: Route, schemas: Schemas): JsonObject {
  const failures = [...rowsByStatus().keys()].map((status): [string, JsonObject] => [
    String(status),
    { $ref: `#/components/responses/${nameOf(status)}` },
  ]);
  return { "200": answerOf(route, schemas), ...Object.fromEntries(failures) };
}

function answerOf({ method, responseField }: Route, schemas: Schemas): JsonObject {
  if (isHttpBody(responseField ? responseField.message : method.output)) {
    return { description: "Bytes of the media type that the answer states.", content: { "*/*": {} } };
  }
  const schema = responseField ? schemas.field(responseField) : schemas.message(method.output);
  if (method.methodKind === "unary") return { description: "OK", content: jsonContent({ schema }) };
  return {
    description: streamText(method.output),
    content: { "text/event-stream": { schema: eventStreamSchema(schema) } },
  };
}

function streamText({ name }: DescMessage): string {
  return (
    `A stream of server-sent events. The data of each is one ${name} as JSON, on one line; its id is where to take the ` +
    "stream up again with Last-Event-ID. Comment lines show that a quiet stream is alive. A failure after the first event is an event " +
    "of type `error`, whose data is the error envelope; it ends the stream."
  );
}

/** OpenAPI 3.1 has no word for the items of a stream; tools that know event streams take the schema for that of one event. */
function eventStreamSchema(schema: JsonObject): JsonObject {
  const envelope = { $ref: `#/components/schemas/${ENVELOPE}` };
  return {
    description: "One event.",
    type: "object",
    required: ["data"],
    properties: {
      id: { type: "string" },
      event: { type: "string", enum: ["message", "error"] },
      data: { type: "string", contentMediaType: JSON_TYPE, contentSchema: { anyOf: [schema, envelope] } },
    },
  };
}

/** Components for the failures: the envelope, and a response for each HTTP status with its reasons as examples. */
export function failureComponents(): { readonly schemas: JsonObject; readonly responses: JsonObject } {
  const responses = [...rowsByStatus()].map(([status, rows]): [string, JsonObject] => [
    nameOf(status),
    failureResponse(status, rows),
  ]);
  return { schemas: { [ENVELOPE]: ENVELOPE_SCHEMA }, responses: Object.fromEntries(responses) };
}

const ENVELOPE_SCHEMA: JsonObject = {
  description:
    "What every failure looks like: google.rpc.Status in the form of AIP-193 (specification 11.6).",
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "status", "message", "details"],
      properties: {
        code: { type: "integer", description: "The HTTP status." },
        status: { type: "string", enum: Object.keys(CODES), description: "Name of the gRPC status code." },
        message: { type: "string", description: "For people." },
        details: {
          description:
            "google.rpc messages: ErrorInfo with the reason, BadRequest with the fields at fault, RetryInfo, RequestInfo.",
          type: "array",
          items: { type: "object", required: ["@type"], properties: { "@type": { type: "string" } } },
        },
      },
    },
  },
};

function rowsByStatus(): ReadonlyMap<number, readonly ErrorRow[]> {
  const rows = [...ERRORS.values()].filter(({ reason }) => !UNSEEN.has(reason));
  const statuses = [...new Set(rows.map(({ http }) => http))].sort((a, b) => a - b);
  return new Map(statuses.map((status) => [status, rows.filter(({ http }) => http === status)]));
}

function nameOf(status: number): string {
  return `Error${status}`;
}

const HEADERS = new Map<number, JsonObject>([
  [401, header("WWW-Authenticate", "How to authenticate.")],
  [405, header("Allow", "The methods that this address has.")],
  [429, header("Retry-After", "Seconds to wait, when that is known.")],
  [503, header("Retry-After", "Seconds to wait, when that is known.")],
]);

function header(name: string, description: string): JsonObject {
  return { [name]: { description, schema: { type: "string" } } };
}

function failureResponse(status: number, rows: readonly ErrorRow[]): JsonObject {
  const examples = rows.map(({ reason, text }): [string, JsonObject] => [
    reason,
    { summary: text, value: JSON.parse(toRestBody(new A2AError(reason))) as JsonObject },
  ]);
  const headers = HEADERS.get(status);
  const media = {
    schema: { $ref: `#/components/schemas/${ENVELOPE}` },
    examples: Object.fromEntries(examples),
  };
  return {
    description: [...new Set(rows.map(({ text }) => text))].join(" "),
    ...(headers && { headers }),
    content: jsonContent(media),
  };
}
