import { create, type JsonObject } from "@bufbuild/protobuf";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { createOpenApiDocument, type OpenApiOptions } from "../../../src/bindings/rest/openapi/document.js";
import { ERRORS } from "../../../src/errors.js";
import { SecurityRequirementSchema, SecuritySchemeSchema } from "../../../src/protocol/schema.js";
import { testService } from "../../support/test-protos.js";

const about = { title: "Switchyard", version: "1", servers: ["https://gateway.example"] };

interface Operation extends JsonObject {
  readonly operationId: string;
  readonly parameters: JsonObject[];
  readonly responses: Record<string, JsonObject>;
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: Record<
    "schemas" | "responses" | "parameters" | "securitySchemes",
    Record<string, JsonObject>
  >;
}

function documentOf(options: Partial<OpenApiOptions> = {}): Document {
  return createOpenApiDocument({ ...about, ...options }) as unknown as Document;
}

/** An operation by its method and path: `get /tasks`. */
function operation(document: Document, line: string): Operation {
  const [method = "", path = ""] = line.split(" ");
  const found = document.paths[path]?.[method];
  if (found === undefined) throw new Error(`the document has no ${line}`);
  return found;
}

/** Problems that a public validator finds: with the form of the document, and with its references. */
async function problemsOf(document: unknown): Promise<unknown> {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(document)));
  if (!valid) return errors;
  validator.resolveRefs();
  return [];
}

const a2a = documentOf();
const rules = documentOf({ services: [testService("RulesService"), testService("SyntheticService")] });

describe("S1-02: the OpenAPI document", () => {
  test.each([
    ["of A2A", a2a],
    ["of the test services", rules],
  ])("%s is valid", async (_, document) => {
    expect(await problemsOf(document)).toEqual([]);
  });

  test("has each address of the annotations, with and without a tenant", () => {
    const lines = Object.entries(a2a.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    expect(lines).toMatchInlineSnapshot(`
      [
        "post /message:send SendMessage",
        "post /{tenant}/message:send SendMessage2",
        "post /message:stream SendStreamingMessage",
        "post /{tenant}/message:stream SendStreamingMessage2",
        "get /tasks/{id} GetTask",
        "get /{tenant}/tasks/{id} GetTask2",
        "get /tasks ListTasks",
        "get /{tenant}/tasks ListTasks2",
        "post /tasks/{id}:cancel CancelTask",
        "post /{tenant}/tasks/{id}:cancel CancelTask2",
        "get /tasks/{id}:subscribe SubscribeToTask",
        "post /tasks/{id}:subscribe SubscribeToTask3",
        "get /{tenant}/tasks/{id}:subscribe SubscribeToTask2",
        "post /{tenant}/tasks/{id}:subscribe SubscribeToTask4",
        "post /tasks/{taskId}/pushNotificationConfigs CreateTaskPushNotificationConfig",
        "get /tasks/{taskId}/pushNotificationConfigs ListTaskPushNotificationConfigs",
        "post /{tenant}/tasks/{taskId}/pushNotificationConfigs CreateTaskPushNotificationConfig2",
        "get /{tenant}/tasks/{taskId}/pushNotificationConfigs ListTaskPushNotificationConfigs2",
        "get /tasks/{taskId}/pushNotificationConfigs/{id} GetTaskPushNotificationConfig",
        "delete /tasks/{taskId}/pushNotificationConfigs/{id} DeleteTaskPushNotificationConfig",
        "get /{tenant}/tasks/{taskId}/pushNotificationConfigs/{id} GetTaskPushNotificationConfig2",
        "delete /{tenant}/tasks/{taskId}/pushNotificationConfigs/{id} DeleteTaskPushNotificationConfig2",
        "get /extendedAgentCard GetExtendedAgentCard",
        "get /{tenant}/extendedAgentCard GetExtendedAgentCard2",
      ]
    `);
  });

  test("has no two operations of one name", () => {
    const ids = Object.values({ ...a2a.paths, ...rules.paths }).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("describes what the contract's comments describe, by JSON names", () => {
    const send = a2a.paths["/message:send"]?.post;
    expect(send?.summary).toBe(
      "Gives the agent a message and waits for the result: a task, or a message when the agent answers directly",
    );
    expect(send?.description).toContain("`configuration.returnImmediately`");
    expect(a2a.components.schemas.TaskState?.description).toContain("- `TASK_STATE_SUBMITTED`: ");
    expect(JSON.stringify(a2a)).not.toMatch(/`[a-z.]+_[a-z_.]+`/);
  });

  test("has the parameters of path and query, by their types", () => {
    const { parameters = [] } = a2a.paths["/{tenant}/tasks"]?.get ?? {};
    const short = parameters.map(({ description: _, ...rest }) => rest);
    expect(short).toEqual([
      { name: "tenant", in: "path", required: true, schema: segmentValue },
      { name: "contextId", in: "query", schema: { type: "string", pattern: idPattern } },
      { name: "status", in: "query", schema: { $ref: "#/components/schemas/TaskState" } },
      { name: "pageSize", in: "query", schema: { ...int32, minimum: 1, maximum: 100 } },
      { name: "pageToken", in: "query", schema: { type: "string" } },
      { name: "historyLength", in: "query", schema: { ...int32, minimum: 0 } },
      { name: "statusTimestampAfter", in: "query", schema: { type: "string", format: "date-time" } },
      { name: "includeArtifacts", in: "query", schema: { type: "boolean" } },
      { $ref: "#/components/parameters/A2AVersion" },
      { $ref: "#/components/parameters/A2AExtensions" },
    ]);
  });

  test.each([
    ["a", true],
    ["...", true],
    ["\u20ac/:", true],
    ["", false],
    [".", false],
    ["..", false],
    ["a\u0000", false],
    ["\u0085", false],
  ])("says what a segment of a path may hold: %j", (text, fits) => {
    expect(new RegExp(segmentValue.pattern, "u").test(text)).toBe(fits);
  });

  test("leaves out of a body what the path says", () => {
    const body = (path: string) => schemaOf(a2a.paths[path]?.post?.requestBody as JsonObject);
    expect(body("/message:send")).toEqual({ $ref: "#/components/schemas/SendMessageRequest" });
    expect(Object.keys(body("/{tenant}/tasks/{id}:cancel").properties as JsonObject)).toEqual(["metadata"]);
    expect(body("/tasks/{id}:cancel").required).toBeUndefined();
    expect(a2a.paths["/message:send"]?.post?.requestBody).toMatchObject({ required: true });
    expect(a2a.paths["/tasks/{id}:cancel"]?.post?.requestBody).not.toHaveProperty("required");
    expect(a2a.paths["/tasks/{id}:subscribe"]?.post).not.toHaveProperty("requestBody");
  });

  test("has a stream as server-sent events, and what takes it up again", () => {
    const { responses, parameters } = operation(a2a, "get /tasks/{id}:subscribe");
    expect(responses["200"]).toMatchObject({
      content: {
        "text/event-stream": {
          schema: {
            type: "object",
            required: ["data"],
            properties: {
              data: {
                type: "string",
                contentSchema: {
                  anyOf: [
                    { $ref: "#/components/schemas/StreamResponse" },
                    { $ref: "#/components/schemas/ErrorEnvelope" },
                  ],
                },
              },
            },
          },
        },
      },
    });
    expect(parameters).toContainEqual({ $ref: "#/components/parameters/LastEventId" });
  });

  test("has each failure with its reasons as examples", () => {
    const { responses } = operation(a2a, "get /tasks/{id}");
    for (const { reason, http } of ERRORS.values()) {
      if (["CANCELLED", "INVALID_REQUEST", "METHOD_NOT_FOUND"].includes(reason)) continue;
      expect(responses[String(http)]).toEqual({ $ref: `#/components/responses/Error${http}` });
      const { content } = a2a.components.responses[`Error${http}`] as { content: Record<string, JsonObject> };
      for (const type of ["application/a2a+json", "application/json"]) {
        const { examples } = content[type] as { examples: JsonObject };
        expect(examples[reason]).toMatchObject({ value: { error: { code: http } } });
      }
    }
  });

  test("names the versions that are served", () => {
    const { A2AVersion } = documentOf({ versions: ["1.0", "0.3"], versionRequired: false }).components
      .parameters;
    expect(A2AVersion).toMatchObject({ required: false, schema: { enum: ["1.0", "0.3"] } });
  });
});

const segmentValue = {
  type: "string",
  minLength: 1,
  pattern: "^(?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f-\\u009f]+$",
};

const idPattern = "^(?!\\.{1,2}$)[A-Za-z0-9_.:-]{0,128}$";

const int32 = { type: "integer", format: "int32", minimum: -2147483648, maximum: 2147483647 };

function schemaOf(body: JsonObject): JsonObject {
  const { content } = body as { content: Record<string, { schema: JsonObject }> };
  return (content["application/json"] as { schema: JsonObject }).schema;
}

describe("S1-03: a schema", () => {
  const { schemas } = a2a.components;

  test("has REQUIRED fields, not empty in what callers send, and one of a part's contents", () => {
    expect(schemas.Message).toMatchObject({ type: "object", required: ["messageId", "role", "parts"] });
    const { properties } = schemas.Message as { properties: Record<string, JsonObject> };
    expect(properties.messageId).toMatchObject({ minLength: 1, maxLength: 256 });
    expect(properties.role).toMatchObject({ not: { const: "ROLE_UNSPECIFIED" } });
    expect(properties.parts).toMatchObject({ minItems: 1 });
    expect(schemas.Part?.oneOf).toEqual(["text", "raw", "url", "data"].map((name) => ({ required: [name] })));
    const { properties: answer } = schemas.ListTasksResponse as { properties: Record<string, JsonObject> };
    expect(answer.tasks).not.toHaveProperty("minItems");
    expect(answer.nextPageToken).not.toHaveProperty("minLength");
    const { properties: card } = schemas.AgentCard as { properties: Record<string, JsonObject> };
    expect(card.description).not.toHaveProperty("minLength");
  });

  test("has none or one of a oneof's members elsewhere", () => {
    const choices = ["task", "message"].map((name) => ({ required: [name] }));
    expect(schemas.SendMessageResponse?.oneOf).toEqual([...choices, { not: { anyOf: choices } }]);
  });

  test.each([
    ["m1", true],
    ["ä 1", true],
    ["x".repeat(256), true],
    [" ", false],
    ["a\u0000", false],
    ["\u0085", false],
  ])("says which message ids are taken: %j", (text, fits) => {
    const { properties } = schemas.Message as { properties: Record<string, JsonObject> };
    expect(new RegExp(String(properties.messageId?.pattern), "u").test(text)).toBe(fits);
  });

  test.each([
    ["", true],
    ["a_B.9:-", true],
    ["x".repeat(129), false],
    [".", false],
    ["..", false],
    ["a/b", false],
  ])("says which ids are taken: %j", (text, fits) => {
    expect(new RegExp(idPattern, "u").test(text)).toBe(fits);
  });

  test("has fields by their ProtoJSON forms", () => {
    const { properties } = schemas.Part as { properties: Record<string, JsonObject> };
    expect(properties.raw).toMatchObject({ type: "string", contentEncoding: "base64" });
    expect(properties.metadata).toMatchObject({ type: "object", additionalProperties: true });
    expect(properties.data).not.toHaveProperty("type");
    const { properties: list } = schemas.ListTasksResponse as { properties: Record<string, JsonObject> };
    expect(list.tasks).toMatchObject({ type: "array", items: { $ref: "#/components/schemas/Task" } });
    expect(schemas.TaskState?.enum).toContain("TASK_STATE_CANCELED");
  });

  const { properties: kinds } = rules.components.schemas.Kinds as { properties: Record<string, JsonObject> };
  test.each([
    ["i32", int32],
    ["u32", { type: "integer", format: "uint32", minimum: 0, maximum: 4294967295 }],
    ["i64", { type: "string", format: "int64", pattern: "^-?[0-9]{1,19}$" }],
    ["x64", { type: "string", format: "uint64", pattern: "^[0-9]{1,20}$" }],
    [
      "wrappedI64",
      { anyOf: [{ type: "string", format: "int64", pattern: "^-?[0-9]{1,19}$" }, { type: "null" }] },
    ],
    ["bool", { type: "boolean" }],
    ["time", { type: "string", format: "date-time" }],
    ["null", { type: "null" }],
    ["list", { type: "array", items: {} }],
    ["choice", { $ref: "#/components/schemas/Choice" }],
    ["bools", { type: "array", items: { type: "boolean" } }],
    ["deep", { $ref: "#/components/schemas/Deep" }],
  ])("of %s", (field, schema) => {
    expect(kinds[field]).toEqual(schema);
  });

  test("of a message with itself in it refers to itself", () => {
    expect(rules.components.schemas.Deep).toMatchObject({
      properties: { deep: { $ref: "#/components/schemas/Deep" } },
    });
  });
});

describe("an annotation beyond those of A2A", () => {
  test.each([
    ["/v1/projects/{name.1}/tasks/{name.2}:check", ["name.1", "name.2"]],
    ["/files/{path}", ["path"]],
    ["/two/{segment2}/{b}", ["segment2", "b"]],
    ["/a/lib/{x.y}", ["x.y"]],
  ])("%s has a parameter for each wildcard", (path, names) => {
    const { parameters = [] } = rules.paths[path]?.get ?? {};
    expect(parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name)).toEqual(names);
  });

  test("that puts a field into the body leaves the rest to the query", () => {
    const { parameters, requestBody } = operation(rules, "put /books/{book.id}/tags");
    expect(schemaOf(requestBody as JsonObject)).toEqual({ type: "array", items: { type: "string" } });
    const names = parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name);
    expect(names).toEqual(["book.title", "count", "big", "kind"]);
  });

  test("with response_body answers with that field", () => {
    const { responses } = operation(rules, "get /part/labels");
    expect(schemaOf(responses["200"] as JsonObject)).toMatchObject({
      type: "object",
      additionalProperties: { type: "string", format: "int64" },
    });
  });

  test("with google.api.HttpBody takes and gives any bytes", () => {
    const { requestBody, responses } = operation(rules, "post /raw");
    expect(requestBody).toEqual({ content: { "*/*": {} } });
    expect(responses["200"]).toMatchObject({ content: { "*/*": {} } });
  });

  test("with a method that OpenAPI does not know is left out", () => {
    expect(rules.paths["/custom"]).toBeUndefined();
    expect(Object.keys(rules.paths["/any"] ?? {})).toEqual(["get"]);
  });
});

test("S0-04: security schemes are those of the card", async () => {
  const scheme = (init: Parameters<typeof create<typeof SecuritySchemeSchema>>[1]) =>
    create(SecuritySchemeSchema, init);
  const document = documentOf({
    securitySchemes: {
      bearer: scheme({
        scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer", bearerFormat: "JWT" } },
      }),
      key: scheme({
        scheme: {
          case: "apiKeySecurityScheme",
          value: { location: "header", name: "x-key", description: "d" },
        },
      }),
      openid: scheme({
        scheme: { case: "openIdConnectSecurityScheme", value: { openIdConnectUrl: "https://id.example/c" } },
      }),
      mtls: scheme({ scheme: { case: "mtlsSecurityScheme", value: {} } }),
      oauth: scheme({
        scheme: {
          case: "oauth2SecurityScheme",
          value: {
            flows: {
              flow: {
                case: "clientCredentials",
                value: { tokenUrl: "https://id.example/t", scopes: { read: "Reading" } },
              },
            },
          },
        },
      }),
      device: scheme({
        scheme: {
          case: "oauth2SecurityScheme",
          value: {
            flows: {
              flow: {
                case: "deviceCode",
                value: {
                  deviceAuthorizationUrl: "https://id.example/d",
                  tokenUrl: "https://id.example/t",
                  scopes: {},
                },
              },
            },
          },
        },
      }),
      unset: scheme({}),
    },
    securityRequirements: [
      create(SecurityRequirementSchema, { schemes: { bearer: {} } }),
      create(SecurityRequirementSchema, { schemes: { oauth: { list: ["read"] }, key: {} } }),
    ],
  });
  expect(await problemsOf(document)).toEqual([]);
  expect(document).toMatchObject({ security: [{ bearer: [] }, { oauth: ["read"], key: [] }] });
  expect(document.components.securitySchemes).toEqual({
    bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
    key: { type: "apiKey", in: "header", name: "x-key", description: "d" },
    openid: { type: "openIdConnect", openIdConnectUrl: "https://id.example/c" },
    mtls: { type: "mutualTLS" },
    oauth: {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: "https://id.example/t", scopes: { read: "Reading" } } },
    },
    device: {
      type: "oauth2",
      flows: {
        "x-deviceAuthorization": {
          deviceAuthorizationUrl: "https://id.example/d",
          tokenUrl: "https://id.example/t",
          scopes: {},
        },
      },
    },
  });
});
