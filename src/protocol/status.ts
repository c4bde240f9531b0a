import {
  create,
  type DescMessage,
  type JsonObject,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Any, AnySchema, anyPack, durationFromMs } from "@bufbuild/protobuf/wkt";
import { type A2AError, ERROR_DOMAIN } from "../errors.js";
import { toJsonValue, writeJson } from "./json/index.js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
  type Status,
  StatusSchema,
} from "./schema.js";

/** The error as google.rpc.Status, with what it carries as typed details (specification 9.5, 10.6, 11.6). */
export function toStatus(error: A2AError): Status {
  return create(StatusSchema, { code: error.row.grpc, message: error.message, details: detailsOf(error) });
}

/** The value of `grpc-status-details-bin`. */
export function toStatusBinary(error: A2AError): Uint8Array {
  return toBinary(StatusSchema, toStatus(error));
}

/** The details as JSON objects, each with its `@type`. Empty when the error carries nothing. */
export function toDetailsJson(error: A2AError): JsonObject[] {
  return detailsJsonOf(detailsOf(error));
}

/** Details of any origin as JSON objects; one of a type that is not known here keeps its bytes as base64 `value`. */
export function detailsJsonOf(details: readonly Any[]): JsonObject[] {
  return details.map((detail) => toJsonValue(AnySchema, detail) as JsonObject);
}

/** The details as the text of a JSON list. */
export function toDetailsText(error: A2AError): string {
  return `[${detailsOf(error)
    .map((detail) => writeJson(AnySchema, detail))
    .join(",")}]`;
}

/** The body of a failed REST call (specification 11.6, AIP-193). */
export function toRestBody(error: A2AError): string {
  const { http, code } = error.row;
  const message = JSON.stringify(error.message);
  return `{"error":{"code":${http},"status":"${code}","message":${message},"details":${toDetailsText(error)}}}`;
}

function detailsOf(error: A2AError): Any[] {
  const { row, violations, metadata, retryAfterMs, errorId } = error;
  const details: Any[] = [];
  if (row.info !== undefined) {
    details.push(
      pack(ErrorInfoSchema, { reason: row.info, domain: ERROR_DOMAIN, metadata: { ...metadata } }),
    );
  }
  if (violations.length > 0) details.push(pack(BadRequestSchema, { fieldViolations: [...violations] }));
  if (retryAfterMs !== undefined)
    details.push(pack(RetryInfoSchema, { retryDelay: durationFromMs(retryAfterMs) }));
  if (errorId !== undefined) details.push(pack(RequestInfoSchema, { requestId: errorId }));
  return details;
}

function pack<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Any {
  return anyPack(schema, create(schema, init));
}
