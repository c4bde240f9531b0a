import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { AgentEntry, Answer, Turn } from "../../../src/agents/agent.js";
import { createDirectory } from "../../../src/agents/directory.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { MessageSchema, Role, TaskState } from "../../../src/protocol/schema.js";

const MESSAGE = create(MessageSchema, {
  messageId: "m",
  role: Role.USER,
  parts: [
    { content: { case: "text", value: "hello" }, metadata: { a: 1 } },
    { content: { case: "raw", value: new Uint8Array([1, 2]) }, filename: "a.bin", mediaType: "image/png" },
  ],
});

const TURN: Turn = {
  message: MESSAGE,
  taskId: "t",
  contextId: "c",
  inbox: (async function* () {})(),
  acceptedOutputModes: [],
  extensions: [],
  principal: { id: "" },
  metadata: {},
};

async function play(answer: Answer) {
  if (answer.kind !== "task") throw new Error("a message");
  const progress = [];
  for (;;) {
    const step = await answer.work.next();
    if (step.done) return { progress, outcome: step.value };
    progress.push(step.value);
  }
}

describe("echo agent", () => {
  it("S0-19 works, returns the parts unchanged as one artifact, and completes", async () => {
    const answer = await createEchoAgent().answer(TURN, AbortSignal.timeout(1000));
    const { progress, outcome } = await play(answer);
    expect(progress).toMatchObject([
      { kind: "status", state: TaskState.WORKING },
      {
        kind: "artifact",
        append: false,
        lastChunk: true,
        artifact: { artifactId: "echo", parts: MESSAGE.parts },
      },
    ]);
    expect(outcome).toEqual({ state: TaskState.COMPLETED });
  });
});

describe("directory", () => {
  const entry = (tenant: string) => ({ tenant }) as AgentEntry;

  it("finds agents by tenant and lists them in order", () => {
    const directory = createDirectory([entry("b"), entry("")]);
    expect(directory.get("")?.tenant).toBe("");
    expect(directory.get("constructor")).toBeUndefined();
    expect(directory.list().map(({ tenant }) => tenant)).toEqual(["b", ""]);
  });

  it("refuses two agents at one tenant", () => {
    expect(() => createDirectory([entry("a"), entry("a")])).toThrow(
      'Two agents are configured for tenant "a".',
    );
  });
});
