import { fromBinary } from "@bufbuild/protobuf";
import { anyIs, anyUnpack } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { A2AError, ERRORS, invalidField } from "../../../src/errors.js";
import { BadRequestSchema, ErrorInfoSchema, StatusSchema } from "../../../src/protocol/schema.js";
import {
  detailsJsonOf,
  toDetailsJson,
  toRestBody,
  toStatus,
  toStatusBinary,
} from "../../../src/protocol/status.js";

describe("S1-04 every row as google.rpc.Status and as a REST body", () => {
  it.each([...ERRORS.values()].map((row) => [row.reason, row] as const))("%s", (reason, row) => {
    const error = new A2AError(reason, { metadata: { taskId: "t" } });
    const info = {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: row.info,
      domain: "a2a-protocol.org",
      metadata: { taskId: "t" },
    };
    const details = row.info === undefined ? [] : [info];
    expect(toDetailsJson(error)).toEqual(details);
    expect(JSON.parse(toRestBody(error))).toEqual({
      error: { code: row.http, status: row.code, message: row.text, details },
    });
    expect(toStatus(error)).toMatchObject({ code: row.grpc, message: row.text });
  });
});

it("carries violations, a delay and an error id, each as its own type", () => {
  const error = new A2AError("UNAVAILABLE", {
    text: "Zeile\n„zwei“",
    violations: [{ field: "a.b[0]", description: "must be c" }],
    retryAfterMs: 1_500,
    errorId: "e-1",
  });
  expect(toDetailsJson(error)).toEqual([
    {
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field: "a.b[0]", description: "must be c" }],
    },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.500s" },
    { "@type": "type.googleapis.com/google.rpc.RequestInfo", requestId: "e-1" },
  ]);
  expect(toRestBody(error)).not.toMatch(/\n/);
  expect(JSON.parse(toRestBody(error))).toMatchObject({ error: { message: "Zeile\n„zwei“" } });
});

it("is readable from grpc-status-details-bin", () => {
  const status = fromBinary(StatusSchema, toStatusBinary(invalidField("message.role", "is required")));
  expect(status).toMatchObject({ code: 3, message: "message.role: is required" });
  const [detail] = status.details;
  expect(detail && anyIs(detail, BadRequestSchema)).toBe(true);
  expect(detail && anyUnpack(detail, BadRequestSchema)).toMatchObject({
    fieldViolations: [{ field: "message.role", description: "is required" }],
  });
  expect(detail && anyUnpack(detail, ErrorInfoSchema)).toBeUndefined();
});

it("keeps a detail of a type that is not known", () => {
  const details = [
    { $typeName: "google.protobuf.Any" as const, typeUrl: "example.com/x.Y", value: Uint8Array.of(1, 2) },
  ];
  expect(detailsJsonOf(details)).toEqual([{ "@type": "example.com/x.Y", value: "AQI=" }]);
});
