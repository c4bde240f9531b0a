import assert from "node:assert/strict";
import { createRegistry, fromBinary, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Any, AnySchema, anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from "../../../gen/google/rpc/error_details_pb.js";
import { CODES, type Code, ERROR_DOMAIN, ERRORS, type ErrorRow } from "../../../src/errors.js";
import type { ErrorNumbers, NeutralError } from "./wire.js";

const DETAILS = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema, RequestInfoSchema);

interface ErrorParts {
  readonly code: Code;
  readonly message: string;
  readonly details: readonly Any[];
  readonly numbers: ErrorNumbers;
}

/** The neutral form of an error; fails when no row of the error table gives these numbers. */
export function neutralError({ code, message, details, numbers }: ErrorParts): NeutralError {
  const error: NeutralError = { code, message, numbers, ...Object.assign({}, ...details.map(factsOf)) };
  const rows = [...ERRORS.values()].filter((row) => row.code === code && row.info === error.reason);
  assert.ok(
    rows.some((row) => statesNumbers(row, numbers)),
    `no row of the error table gives ${code}/${error.reason ?? "no reason"} with ${JSON.stringify(numbers)}: ${message}`,
  );
  return error;
}

/** True when a wire states this row with these numbers. */
export function statesNumbers(row: ErrorRow, numbers: ErrorNumbers): boolean {
  return (["grpc", "jsonrpc", "http"] as const).every((name) =>
    [undefined, row[name]].includes(numbers[name]),
  );
}

/** Details as JSON-RPC and REST write them. */
export function detailsFromJson(details: JsonValue | undefined): Any[] {
  if (details === undefined) return [];
  assert.ok(Array.isArray(details), "details are a list");
  return details.map((detail) => fromJson(AnySchema, detail, { registry: DETAILS }));
}

/** A detail as gRPC and Connect carry it. */
export function detailFromBinary(typeUrl: string, value: Uint8Array): Any {
  return fromBinary(AnySchema, encodeAny(typeUrl, value));
}

/** Name of a gRPC status number. */
export function codeOfNumber(number: number): Code {
  const found = (Object.keys(CODES) as Code[]).find((name) => CODES[name].number === number);
  assert.ok(found, `unknown status ${number}`);
  return found;
}

/** Any by hand: field 1 the type, field 2 the value. */
function encodeAny(typeUrl: string, value: Uint8Array): Uint8Array {
  const field = (number: number, bytes: Uint8Array) => [
    Buffer.from([(number << 3) | 2, ...varint(bytes.length)]),
    Buffer.from(bytes),
  ];
  return Buffer.concat([...field(1, Buffer.from(typeUrl)), ...field(2, value)]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

function factsOf(detail: Any): Partial<NeutralError> {
  const message = anyUnpack(detail, DETAILS);
  switch (message?.$typeName) {
    case "google.rpc.ErrorInfo": {
      const { reason, domain, metadata } = fromBinary(ErrorInfoSchema, detail.value);
      assert.equal(domain, ERROR_DOMAIN);
      return { reason, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) };
    }
    case "google.rpc.BadRequest": {
      const { fieldViolations } = fromBinary(BadRequestSchema, detail.value);
      return { violations: fieldViolations.map(({ field, description }) => ({ field, description })) };
    }
    case "google.rpc.RetryInfo": {
      const delay = fromBinary(RetryInfoSchema, detail.value).retryDelay;
      return { retryAfterMs: Number(delay?.seconds ?? 0) * 1000 + (delay?.nanos ?? 0) / 1e6 };
    }
    case "google.rpc.RequestInfo":
      return { errorId: fromBinary(RequestInfoSchema, detail.value).requestId };
    default:
      throw new Error(`detail of unknown type ${detail.typeUrl}`);
  }
}
