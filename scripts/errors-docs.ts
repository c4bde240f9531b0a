// Writes docs/errors.md from the error table. With --check it changes nothing and fails when the page is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { ERRORS } from "../src/errors.js";

const PAGE = "docs/errors.md";

const INTRODUCTION = `# Errors

<!-- Generated from src/errors.ts by \`make generate\`; do not edit. -->

Every error is one row of this table, and every wire shows it from that row.

| reason | gRPC, Connect | JSON-RPC | HTTP (REST) | default text |
|---|---|---|---|---|
`;

const FORMS = `
## How each wire shows an error

| wire | where |
|---|---|
| gRPC | \`grpc-status\`, \`grpc-message\`, and \`grpc-status-details-bin\` with a google.rpc.Status |
| gRPC-Web | the same in the trailer frame |
| Connect | \`code\`, \`message\` and \`details\` in the JSON body of a unary answer or the end-of-stream frame |
| JSON-RPC | \`error.code\`, \`error.message\`, and \`error.data\`, a list of details with \`@type\`; HTTP status 200, but 401, 413, 429 and 503 as they are |
| REST | the HTTP status and \`{"error":{"code":…,"status":…,"message":…,"details":[…]}}\`; the same for addresses that do not exist |

Details are google.rpc messages:

- ErrorInfo with the reason and the domain \`a2a-protocol.org\`, for the rows marked with *: the nine errors that the
  specification names;
- BadRequest with the fields that were wrong, as JSON paths;
- RetryInfo, which is \`Retry-After\` in HTTP;
- RequestInfo with an error id, for INTERNAL: the log has the cause under the same id. The text of an unexpected error
  is never sent.

A reason marked with * but without a number of its own in the specification (MEDIA_TYPE_NOT_SUPPORTED) is sent as
\`CONTENT_TYPE_NOT_SUPPORTED\`: 415 says that the body was not read, 400 that a part of it is of a type that the agent does not take.

## What the libraries below answer by themselves

| where | case | answer |
|---|---|---|
| gRPC port | message larger than the limit, before or after decompression | RESOURCE_EXHAUSTED, text of grpc-js |
| gRPC port | unknown service or method | UNIMPLEMENTED, text of grpc-js |
| gRPC port | no message, or more than one | UNIMPLEMENTED, text of grpc-js |
| gRPC port | compression other than gzip and deflate | UNIMPLEMENTED, text of grpc-js |
| gRPC port | compressed message that is damaged, \`grpc-timeout\` that is none | INTERNAL, text of grpc-js |
| gRPC port | deadline passed | DEADLINE_EXCEEDED, text of grpc-js |
| gRPC port | media type that does not begin with \`application/grpc\` | 415 with an empty body |
| both ports, HTTP/2 | more than 128 header fields | the stream is reset, ENHANCE_YOUR_CALM |
| both ports, HTTP/2 | more than about 1000 streams that the client resets in quick succession | the connection is closed |
| HTTP port, HTTP/1.1 | CONNECT | the connection is closed |
| HTTP port, HTTP/1.1 | \`Expect\` other than \`100-continue\` | 417 with an empty body |
`;

function rows(): string {
  return [...ERRORS.values()]
    .map((row) => {
      const mark = row.info === undefined ? "" : " *";
      return `| \`${row.reason}\`${mark} | ${row.code} (${row.grpc}) | ${row.jsonrpc} | ${row.http} | ${row.text} |\n`;
    })
    .join("");
}

const page = INTRODUCTION + rows() + FORMS;
if (!process.argv.includes("--check")) writeFileSync(PAGE, page);
else if (readFileSync(PAGE, "utf8") !== page) {
  console.error(`${PAGE} is stale: run make generate`);
  process.exit(1);
}
