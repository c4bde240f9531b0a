import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
  toJsonString,
} from "@bufbuild/protobuf";
import {
  A2AService,
  GetTaskRequestSchema,
  ListTasksRequestSchema,
  type ListTasksResponse,
  ListTasksResponseSchema,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  SubscribeToTaskRequestSchema,
} from "../../../src/protocol/schema.js";
import type { Load } from "./load.js";
import { type RequestSpec, SLOT } from "./request.js";
import type { Server } from "./server.js";

/** A way to call a server. `grpc-h2c` is gRPC on the HTTP port. */
export type WireName = "jsonrpc" | "rest" | "connect" | "grpc-web" | "grpc" | "grpc-h2c";

/** How a wire is named in tables. */
export const WIRE_TITLES: Readonly<Record<WireName, string>> = {
  jsonrpc: "JSON-RPC",
  rest: "REST",
  connect: "Connect (JSON)",
  "grpc-web": "gRPC-Web",
  grpc: "gRPC",
  "grpc-h2c": "gRPC on the HTTP port",
};

interface RestForm {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
}

interface Operation<Desc extends DescMessage> {
  readonly name: string;
  readonly input: Desc;
  readonly stream: boolean;
  readonly rest: (message: MessageShape<Desc>) => RestForm;
}

const GET_TASK: Operation<typeof GetTaskRequestSchema> = {
  name: "GetTask",
  input: GetTaskRequestSchema,
  stream: false,
  rest: ({ id }) => ({ method: "GET", path: `/tasks/${id}` }),
};

const LIST_TASKS: Operation<typeof ListTasksRequestSchema> = {
  name: "ListTasks",
  input: ListTasksRequestSchema,
  stream: false,
  rest: (message) => {
    const fields = toJson(ListTasksRequestSchema, message) as JsonObject;
    const query = new URLSearchParams(
      Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return { method: "GET", path: `/tasks?${query}` };
  },
};

const SEND: Operation<typeof SendMessageRequestSchema> = {
  name: "SendMessage",
  input: SendMessageRequestSchema,
  stream: false,
  rest: (message) => ({
    method: "POST",
    path: "/message:send",
    body: toJsonString(SendMessageRequestSchema, message),
  }),
};

const STREAM: Operation<typeof SendMessageRequestSchema> = {
  name: "SendStreamingMessage",
  input: SendMessageRequestSchema,
  stream: true,
  rest: (message) => ({ ...SEND.rest(message), path: "/message:stream" }),
};

const SUBSCRIBE: Operation<typeof SubscribeToTaskRequestSchema> = {
  name: "SubscribeToTask",
  input: SubscribeToTaskRequestSchema,
  stream: true,
  rest: ({ id }) => ({ method: "GET", path: `/tasks/${id}:subscribe` }),
};

export const getTask = (wire: WireName, server: Server, id: string): RequestSpec =>
  requestFor(wire, server, GET_TASK, { id });

export const subscribe = (wire: WireName, server: Server, id: string): RequestSpec =>
  requestFor(wire, server, SUBSCRIBE, { id });

export const listTasks = (
  wire: WireName,
  server: Server,
  query: MessageInitShape<typeof ListTasksRequestSchema>,
): RequestSpec => requestFor(wire, server, LIST_TASKS, query);

/** Each call sends a message of its own. */
export const sendMessage = (wire: WireName, server: Server, text: string): RequestSpec =>
  requestFor(wire, server, SEND, messageOf(text));

export const streamMessage = (wire: WireName, server: Server, text: string): RequestSpec =>
  requestFor(wire, server, STREAM, messageOf(text));

/** Starts a task and does not wait for its end. */
export const startTask = (wire: WireName, server: Server, text: string): RequestSpec =>
  requestFor(wire, server, SEND, { ...messageOf(text), configuration: { returnImmediately: true } });

function messageOf(text: string) {
  const parts = [{ content: { case: "text" as const, value: text } }];
  return { message: { messageId: `bench-${SLOT}`, role: Role.USER, parts } };
}

/** Sends a message once; resolves with the id of its task. */
export async function taskOf(load: Load, wire: WireName, request: RequestSpec): Promise<string> {
  const { payload } = readAnswer(wire, SendMessageResponseSchema, await load.once(request));
  if (payload.case !== "task") throw new Error(`${request.path}: the answer is no task`);
  return payload.value.id;
}

/** Lists once. */
export async function pageOf(load: Load, wire: WireName, request: RequestSpec): Promise<ListTasksResponse> {
  return readAnswer(wire, ListTasksResponseSchema, await load.once(request));
}

function readAnswer<Desc extends DescMessage>(
  wire: WireName,
  schema: Desc,
  body: Uint8Array,
): MessageShape<Desc> {
  if (wire === "grpc" || wire === "grpc-h2c") return fromBinary(schema, body);
  const json = JSON.parse(new TextDecoder().decode(body)) as JsonValue;
  const result = wire === "jsonrpc" ? (json as JsonObject).result : json;
  if (result === undefined) throw new Error(JSON.stringify(json));
  return fromJson(schema, result, { ignoreUnknownFields: true });
}

function requestFor<Desc extends DescMessage>(
  wire: WireName,
  server: Server,
  operation: Operation<Desc>,
  init: MessageInitShape<Desc>,
): RequestSpec {
  const message = create(operation.input, init);
  const rpcPath = `/${A2AService.typeName}/${operation.name}`;
  const { stream } = operation;
  switch (wire) {
    case "grpc":
    case "grpc-h2c": {
      const port = wire === "grpc" ? server.grpc : server.http;
      return { kind: "grpc", port, path: rpcPath, body: toBinary(operation.input, message), stream };
    }
    case "grpc-web":
      return post(
        server,
        rpcPath,
        "application/grpc-web+proto",
        enveloped(toBinary(operation.input, message)),
        stream,
      );
    case "connect":
      return post(server, rpcPath, "application/json", toJsonString(operation.input, message), stream);
    case "jsonrpc": {
      const envelope = `{"jsonrpc":"2.0","id":1,"method":"${operation.name}","params":${toJsonString(operation.input, message)}}`;
      return post(server, server.jsonrpcPath, "application/json", envelope, stream);
    }
    case "rest":
      return restRequest(server, operation.rest(message), stream);
  }
}

function restRequest(server: Server, { method, path, body = "" }: RestForm, stream: boolean): RequestSpec {
  const spec = post(server, `${server.restPrefix}${path}`, "application/json", body, stream);
  if (spec.kind !== "http" || method === "POST") return spec;
  return { ...spec, method, headers: { "a2a-version": "1.0" } };
}

function post(
  server: Server,
  path: string,
  mediaType: string,
  body: string | Uint8Array,
  stream: boolean,
): RequestSpec {
  return {
    kind: "http",
    port: server.http,
    method: "POST",
    path,
    headers: {
      "content-type": mediaType,
      "a2a-version": "1.0",
      ...(stream && { accept: "text/event-stream" }),
    },
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    stream,
  };
}

function enveloped(message: Uint8Array): Uint8Array {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
