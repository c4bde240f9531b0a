import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Answer, Outcome, Progress, Turn } from "../../../src/agents/agent.js";
import { data, file, text, textOf } from "../../../src/agents/content.js";
import { type AgentDefinition, defineAgent, type Reaction } from "../../../src/agents/define.js";
import {
  artifact,
  askAuth,
  askInput,
  authPending,
  canceled,
  complete,
  fail,
  reject,
  stream,
  working,
} from "../../../src/agents/progress.js";
import { MessageSchema, PartSchema, TaskSchema, TaskState } from "../../../src/protocol/schema.js";

const CARD = { name: "A", description: "An agent." };
const SIGNAL = new AbortController().signal;

function turn(over: Partial<Turn> = {}): Turn {
  return {
    message: create(MessageSchema, { messageId: "m", parts: [text("a"), data(1), text("b")] }),
    taskId: "t",
    contextId: "c",
    inbox: (async function* () {})(),
    acceptedOutputModes: [],
    extensions: [],
    principal: { id: "" },
    metadata: {},
    ...over,
  };
}

async function answerOf(answer: AgentDefinition["answer"], over?: Partial<Turn>): Promise<Answer> {
  return await defineAgent({ card: CARD, answer }).answer(turn(over), SIGNAL);
}

async function play(answer: Answer): Promise<{ progress: Progress[]; outcome: Outcome }> {
  if (answer.kind !== "task") throw new Error("The agent answered with a message.");
  const progress: Progress[] = [];
  for (;;) {
    const step = await answer.work.next();
    if (step.done) return { progress, outcome: step.value };
    progress.push(step.value);
  }
}

const json = (part: Parameters<typeof text>[0] | ReturnType<typeof text>): JsonValue =>
  typeof part === "string" ? part : toJson(PartSchema, part);

describe("defineAgent", () => {
  it("completes the card", () => {
    const { card } = defineAgent({ card: { ...CARD, defaultOutputModes: ["image/png"] }, answer: () => "x" });
    expect(card).toMatchObject({
      name: "A",
      description: "An agent.",
      version: "1.0.0",
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["image/png"],
    });
  });

  it.each<[string, Reaction, JsonValue]>([
    ["a text", "hi", [{ text: "hi" }]],
    ["a part", data({ a: null }), [{ data: { a: null } }]],
    ["parts", [text("a"), text("b")], [{ text: "a" }, { text: "b" }]],
  ])("answers %s as a direct message", async (_name, reaction, parts) => {
    const answer = await answerOf(async () => reaction);
    expect(answer.kind === "message" && answer.parts.map(json)).toEqual(parts);
  });

  it.each<[string, Outcome, TaskState]>([
    ["complete", complete("x"), TaskState.COMPLETED],
    ["fail", fail("x"), TaskState.FAILED],
    ["reject", reject("x"), TaskState.REJECTED],
    ["canceled", canceled("x"), TaskState.CANCELED],
    ["askInput", askInput("x"), TaskState.INPUT_REQUIRED],
    ["askAuth", askAuth("x"), TaskState.AUTH_REQUIRED],
  ])("S2-12 answers %s as a task that ended so", async (_name, made, state) => {
    const { progress, outcome } = await play(await answerOf(() => made));
    expect(progress).toEqual([]);
    expect(outcome).toEqual({ state, parts: [text("x")] });
  });

  it("plays a generator, with its short forms written out", async () => {
    const answer = await answerOf(async function* () {
      yield "thinking";
      yield [text("a"), data(1)];
      yield working("still", { metadata: { percent: 50 } });
      yield authPending("please allow");
      yield artifact("result", { id: "r", name: "n" });
      return "done";
    });
    const { progress, outcome } = await play(answer);
    expect(progress).toMatchObject([
      { kind: "status", state: TaskState.WORKING, parts: [text("thinking")] },
      { kind: "status", state: TaskState.WORKING, parts: [text("a"), data(1)] },
      { kind: "status", parts: [text("still")], metadata: { percent: 50 } },
      { kind: "status", state: TaskState.AUTH_REQUIRED, parts: [text("please allow")] },
      {
        kind: "artifact",
        append: false,
        lastChunk: true,
        artifact: { artifactId: "r", name: "n", parts: [text("result")] },
      },
    ]);
    expect(outcome).toEqual({ state: TaskState.COMPLETED, parts: [text("done")] });
  });

  it("makes a new task WORKING before its first artifact, once, and a resumed one not", async () => {
    const answer = async function* () {
      yield artifact("a");
      yield artifact("b");
    };
    const kinds = ({ progress }: { progress: Progress[] }) => progress.map(({ kind }) => kind);
    const fresh = await play(await answerOf(answer));
    expect(kinds(fresh)).toEqual(["status", "artifact", "artifact"]);
    expect(fresh.outcome).toEqual({ state: TaskState.COMPLETED });
    const resumed = await play(await answerOf(answer, { task: create(TaskSchema, { id: "t" }) }));
    expect(kinds(resumed)).toEqual(["artifact", "artifact"]);
  });

  it("ends the author's generator when the run leaves early", async () => {
    let ended = false;
    const answer = await answerOf(async function* () {
      try {
        yield "one";
        yield "two";
      } finally {
        ended = true;
      }
    });
    if (answer.kind !== "task") throw new Error("no task");
    await answer.work.next();
    await answer.work.return({ state: TaskState.CANCELED });
    expect(ended).toBe(true);
  });

  it("hands on what the author throws, before and after the first yield", async () => {
    const early = answerOf(() => {
      throw new Error("early");
    });
    await expect(early).rejects.toThrow("early");
    const late = await answerOf(async function* () {
      yield "x";
      throw new Error("late");
    });
    await expect(play(late)).rejects.toThrow("late");
  });

  it.each([
    ["undefined", undefined, "answer() returned undefined; return content, an outcome or a generator."],
    ["null", null, "answer() returned null; return content, an outcome or a generator."],
    ["a number", 4, "Expected text or parts, not a number."],
    ["a foreign object", { text: "hi" }, "Expected text or parts, not an object with text."],
    ["a list with one", ["a", []], "Expected text or parts, not an array."],
  ])("refuses %s as an answer", async (_name, reaction, problem) => {
    await expect(answerOf(() => reaction as unknown as string)).rejects.toThrow(problem);
  });

  it("offers resume only when the author does", async () => {
    expect(defineAgent({ card: CARD, answer: () => "x" }).resume).toBeUndefined();
    const agent = defineAgent({
      card: CARD,
      answer: () => "x",
      resume() {
        return this.answer(turn(), SIGNAL);
      },
    });
    expect(await agent.resume?.(turn(), SIGNAL)).toMatchObject({ kind: "message" });
  });
});

describe("content", () => {
  it("makes every kind of part", () => {
    expect(json(text("a", { mediaType: "text/markdown", metadata: { k: 1 } }))).toEqual({
      text: "a",
      mediaType: "text/markdown",
      metadata: { k: 1 },
    });
    expect(json(data(null))).toEqual({ data: null });
    expect(json(file({ bytes: "äb", name: "a.txt", mediaType: "text/plain" }))).toEqual({
      raw: "w6Ri",
      filename: "a.txt",
      mediaType: "text/plain",
    });
    expect(json(file({ bytes: new Uint8Array([0, 255]) }))).toEqual({ raw: "AP8=" });
    expect(json(file({ url: "https://e.x/f", name: "f" }))).toEqual({ url: "https://e.x/f", filename: "f" });
  });

  it("refuses data that JSON cannot say", () => {
    expect(() => data({ a: [Number.NaN] })).toThrow("data() takes a JSON value, not NaN.");
    expect(() => data((() => 1) as unknown as JsonValue)).toThrow(
      "data() takes a JSON value, not a function.",
    );
    expect(json(data({ a: undefined, b: 1 } as unknown as JsonValue))).toEqual({ data: { b: 1 } });
  });

  it("reads the text of a message", () => {
    expect(textOf(turn().message)).toBe("ab");
    expect(textOf({ parts: [data(1)] })).toBe("");
  });
});

describe("stream", () => {
  async function chunks(source: Parameters<typeof stream>[0]) {
    const seen = [];
    for await (const piece of stream(source, { id: "s", name: "words" })) {
      if (piece.kind !== "artifact") throw new Error("no artifact");
      const { append, lastChunk, artifact: made } = piece;
      seen.push([made.artifactId, made.name, textOf(made), append, lastChunk]);
    }
    return seen;
  }

  it("S2-05 puts a list out piece by piece and marks the last", async () => {
    expect(await chunks(["a", text("b"), "c"])).toEqual([
      ["s", "words", "a", false, false],
      ["s", "", "b", true, false],
      ["s", "", "c", true, true],
    ]);
    expect(await chunks([])).toEqual([]);
  });

  it("hands on each piece of a source as soon as it is there", async () => {
    let asked = 0;
    const source = (async function* () {
      for (const word of ["a", "b"]) {
        asked += 1;
        yield word;
      }
    })();
    const pieces = stream(source);
    expect((await pieces.next()).value).toMatchObject({ append: false, lastChunk: false });
    expect(asked).toBe(1);
    expect((await pieces.next()).value).toMatchObject({ append: true, lastChunk: false });
    expect((await pieces.next()).done).toBe(true);
  });
});
