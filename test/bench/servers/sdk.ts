// The official JavaScript SDK with the benchmark's agent and its memory store, on all its transports.
import { randomUUID } from "node:crypto";
import { type AgentCard, type Artifact, type Part, type Task, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { chunkText, gateOf, planOf } from "./script.js";

const http = Number(process.env.HTTP_PORT);
const grpc = Number(process.env.GRPC_PORT);

const CARD: AgentCard = {
  name: "Bench",
  description: "Answers as its message says.",
  version: "1.0.0",
  supportedInterfaces: [
    {
      protocolBinding: "JSONRPC",
      url: `http://127.0.0.1:${http}/jsonrpc`,
      tenant: "",
      protocolVersion: "1.0",
    },
    {
      protocolBinding: "HTTP+JSON",
      url: `http://127.0.0.1:${http}/rest`,
      tenant: "",
      protocolVersion: "1.0",
    },
    { protocolBinding: "GRPC", url: `127.0.0.1:${grpc}`, tenant: "", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, pushNotifications: false, extensions: [] },
  defaultInputModes: ["*/*"],
  defaultOutputModes: ["*/*"],
  skills: [],
  provider: undefined,
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
};

const textPart = (value: string): Part => ({
  content: { $case: "text", value },
  metadata: undefined,
  filename: "",
  mediaType: "",
});

/** Publishes what the gateway's runs publish for the same agent: the task, WORKING, its artifact, COMPLETED. */
const executor: AgentExecutor = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const task: Task = {
      id: taskId,
      contextId,
      status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: now() },
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    };
    bus.publish(AgentEvent.task(task));
    publishState(context, bus, TaskState.TASK_STATE_WORKING);
    await work(context, bus);
    publishState(context, bus, TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask() {},
};

async function work(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
  const { parts } = context.userMessage;
  const plan = planOf(parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join(""));
  switch (plan.kind) {
    case "echo":
      publishArtifact(context, bus, { id: "echo", parts, append: false, lastChunk: true });
      return;
    case "chunks":
      publishChunks(context, bus, plan.count);
      return;
    case "hold":
      return new Promise(() => {});
    case "gate":
      await gateOf(plan.key).opened;
      publishChunks(context, bus, plan.count);
      return;
    case "open":
      gateOf(plan.key).open();
      publishArtifact(context, bus, { id: randomUUID(), parts, append: false, lastChunk: true });
  }
}

function publishChunks(context: RequestContext, bus: ExecutionEventBus, count: number): void {
  for (let index = 1; index <= count; index += 1) {
    const parts = [textPart(chunkText(index))];
    publishArtifact(context, bus, { id: "text", parts, append: index > 1, lastChunk: index === count });
  }
}

interface Piece {
  readonly id: string;
  readonly parts: Part[];
  readonly append: boolean;
  readonly lastChunk: boolean;
}

function publishArtifact({ taskId, contextId }: RequestContext, bus: ExecutionEventBus, piece: Piece): void {
  const { id, parts, append, lastChunk } = piece;
  const artifact: Artifact = {
    artifactId: id,
    name: "",
    description: "",
    parts,
    metadata: undefined,
    extensions: [],
  };
  bus.publish(
    AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }),
  );
}

function publishState({ taskId, contextId }: RequestContext, bus: ExecutionEventBus, state: TaskState): void {
  const status = { state, message: undefined, timestamp: now() };
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
}

function now(): string {
  return new Date().toISOString();
}

const options = {
  requestHandler: new DefaultRequestHandler(CARD, new InMemoryTaskStore(), executor),
  userBuilder: UserBuilder.noAuthentication,
};

const app = express();
app.use("/jsonrpc", jsonRpcHandler(options));
app.use("/rest", restHandler(options));
app.listen(http, "127.0.0.1");

const server = new Server();
server.addService(A2AService, grpcService(options));
server.bindAsync(`127.0.0.1:${grpc}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
