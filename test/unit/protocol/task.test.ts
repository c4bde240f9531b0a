import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/errors.js";
import {
  type ArtifactSchema,
  MessageSchema,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusUpdateEventSchema,
} from "../../../src/protocol/schema.js";
import { canTransition, createFold, phaseOf } from "../../../src/protocol/task.js";

const { SUBMITTED, WORKING, COMPLETED, FAILED, CANCELED, INPUT_REQUIRED, REJECTED, AUTH_REQUIRED } =
  TaskState;
const response = (payload: StreamResponse["payload"]): StreamResponse =>
  create(StreamResponseSchema, { payload });
const text = (value: string) => ({ content: { case: "text", value } }) as const;
const opening = (task: Pick<MessageInitShape<typeof TaskSchema>, "history" | "metadata"> = {}) =>
  response({
    case: "task",
    value: create(TaskSchema, { id: "t", contextId: "c", status: { state: SUBMITTED }, ...task }),
  });
const status = (state: TaskState, said?: string, seconds = 0) =>
  response({
    case: "statusUpdate",
    value: create(TaskStatusUpdateEventSchema, {
      taskId: "t",
      status: {
        state,
        timestamp: { seconds: BigInt(seconds) },
        ...(said !== undefined && { message: { messageId: said, parts: [text(said)] } }),
      },
    }),
  });
const chunk = (artifact: MessageInitShape<typeof ArtifactSchema>, append = true) =>
  response({
    case: "artifactUpdate",
    value: create(TaskArtifactUpdateEventSchema, { taskId: "t", append, artifact }),
  });
const said = (messageId: string) =>
  response({ case: "message", value: create(MessageSchema, { messageId }) });

function fold(...responses: StreamResponse[]): Task {
  const growing = createFold();
  for (const each of responses) growing.apply(each);
  return growing.task();
}

const STATES = [
  SUBMITTED,
  WORKING,
  COMPLETED,
  FAILED,
  CANCELED,
  INPUT_REQUIRED,
  REJECTED,
  AUTH_REQUIRED,
] as const;

describe("state machine (S0-19, S2-02, S2-12)", () => {
  // One row per state it starts from, one column per state in the order of STATES; = is an update of the same state.
  const TABLE: Record<(typeof STATES)[number], string> = {
    [SUBMITTED]: "= y y y y y y y",
    [WORKING]: "n = y y y y y y",
    [COMPLETED]: "n n n n n n n n",
    [FAILED]: "n n n n n n n n",
    [CANCELED]: "n n n n n n n n",
    [INPUT_REQUIRED]: "n y y y y = y y",
    [REJECTED]: "n n n n n n n n",
    [AUTH_REQUIRED]: "n y y y y y y =",
  };
  const pairs = STATES.flatMap((from) =>
    STATES.map((to, column) => ({ from, to, mark: TABLE[from].split(" ")[column] })),
  );

  it("has a row for all 64 pairs", () => {
    expect(pairs).toHaveLength(64);
  });

  it.each(pairs)("$from → $to: $mark", ({ from, to, mark }) => {
    expect(canTransition(from, to)).toBe(mark !== "n");
  });

  it.each([0, 9, -1, 99, 1.5, Number.NaN])("never leaves or enters the state number %s", (unknown) => {
    for (const state of STATES) {
      expect(canTransition(state, unknown as TaskState)).toBe(false);
      expect(canTransition(unknown as TaskState, state)).toBe(false);
    }
    expect(canTransition(unknown as TaskState, unknown as TaskState)).toBe(false);
  });

  it("gives each state its phase", () => {
    expect(STATES.map(phaseOf)).toEqual([
      "open",
      "open",
      "terminal",
      "terminal",
      "terminal",
      "interrupted",
      "terminal",
      "interrupted",
    ]);
    expect(phaseOf(TaskState.UNSPECIFIED)).toBe("open");
    expect(phaseOf(99 as TaskState)).toBe("open");
  });
});

describe("fold", () => {
  it("starts with the task that opens the log", () => {
    const task = fold(opening({ history: [{ messageId: "u1" }], metadata: { k: 1 } }));
    expect(task).toEqual(
      create(TaskSchema, {
        id: "t",
        contextId: "c",
        status: { state: SUBMITTED },
        history: [{ messageId: "u1" }],
        metadata: { k: 1 },
      }),
    );
  });

  it("moves the message of a replaced status to the history", () => {
    const task = fold(opening(), status(WORKING, "a"), status(WORKING), status(COMPLETED, "b", 7));
    expect(task.history.map((message) => message.messageId)).toEqual(["a"]);
    expect(task.status?.state).toBe(COMPLETED);
    expect(task.status?.message?.messageId).toBe("b");
    expect(task.status?.timestamp?.seconds).toBe(7n);
  });

  it("keeps what was said in order when a user answers a status message (S2-03)", () => {
    const asked = [opening({ history: [{ messageId: "u1" }] }), status(INPUT_REQUIRED, "question", 5)];
    const answered = fold(...asked, said("u2"));
    expect(answered.history.map((message) => message.messageId)).toEqual(["u1", "question", "u2"]);
    expect(answered.status?.state).toBe(INPUT_REQUIRED);
    expect(answered.status?.timestamp?.seconds).toBe(5n);
    expect(answered.status?.message).toBeUndefined();

    const resumed = fold(...asked, said("u2"), status(WORKING));
    expect(resumed.history.map((message) => message.messageId)).toEqual(["u1", "question", "u2"]);
  });

  it("leaves the task's metadata alone when an event has some", () => {
    const update = response({
      case: "statusUpdate",
      value: create(TaskStatusUpdateEventSchema, { status: { state: WORKING }, metadata: { other: true } }),
    });
    expect(fold(opening({ metadata: { k: 1 } }), update).metadata).toEqual({ k: 1 });
    expect(fold(opening(), update).metadata).toBeUndefined();
  });

  it("joins appended chunks: parts in order, metadata by key, extensions united, later names win", () => {
    const task = fold(
      opening(),
      chunk({
        artifactId: "a",
        name: "first",
        parts: [text("1")],
        metadata: { x: 1, y: 1 },
        extensions: ["e"],
      }),
      chunk({
        artifactId: "a",
        parts: [text("2"), text("3")],
        metadata: { y: 2, z: 3 },
        extensions: ["e", "f"],
      }),
      chunk({ artifactId: "a", description: "d" }),
    );
    expect(task.artifacts).toHaveLength(1);
    expect(task.artifacts[0]).toMatchObject({
      artifactId: "a",
      name: "first",
      description: "d",
      metadata: { x: 1, y: 2, z: 3 },
      extensions: ["e", "f"],
    });
    expect(task.artifacts[0]?.parts.map((part) => part.content.value)).toEqual(["1", "2", "3"]);
  });

  it("keeps a metadata key __proto__ as data", () => {
    const metadata = JSON.parse('{"__proto__": {"polluted": true}}');
    const task = fold(opening(), chunk({ artifactId: "a", metadata }), chunk({ artifactId: "a", metadata }));
    expect(Object.keys(task.artifacts[0]?.metadata ?? {})).toEqual(["__proto__"]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  it("creates an unknown artifact on append and replaces a known one in its place otherwise", () => {
    const task = fold(
      opening(),
      chunk({ artifactId: "a", parts: [text("old")] }),
      chunk({ artifactId: "b", parts: [text("b")] }),
      chunk({ artifactId: "a", parts: [text("new")] }, false),
      chunk({ artifactId: "a", parts: [text("more")] }),
    );
    expect(task.artifacts.map((artifact) => artifact.artifactId)).toEqual(["a", "b"]);
    expect(task.artifacts[0]?.parts.map((part) => part.content.value)).toEqual(["new", "more"]);
  });

  it("treats artifact ids as opaque", () => {
    const ids = ["__proto__", "constructor", "", "a\0b"];
    const task = fold(opening(), ...ids.map((artifactId) => chunk({ artifactId, parts: [text("x")] })));
    expect(task.artifacts.map((artifact) => artifact.artifactId)).toEqual(ids);
  });

  it("tells the state at any time", () => {
    const growing = createFold();
    expect(growing.state).toBe(TaskState.UNSPECIFIED);
    growing.apply(opening());
    expect(growing.state).toBe(SUBMITTED);
    growing.apply(status(WORKING));
    growing.apply(said("u2"));
    expect(growing.state).toBe(WORKING);
    expect(createFold(growing.task()).state).toBe(WORKING);
  });

  it("never changes a task that it handed out", () => {
    const growing = createFold();
    growing.apply(opening());
    growing.apply(chunk({ artifactId: "a", parts: [text("1")] }));
    growing.apply(status(WORKING, "w"));
    const unread = growing.task();
    const read = growing.task();
    const before = structuredClone(read);
    growing.apply(chunk({ artifactId: "a", parts: [text("2")] }));
    growing.apply(chunk({ artifactId: "b", parts: [text("3")] }));
    growing.apply(chunk({ artifactId: "a", parts: [text("4")] }, false));
    growing.apply(status(COMPLETED));
    expect(read).toEqual(before);
    expect(unread).toEqual(before);
    expect(growing.task()).not.toEqual(before);
  });

  it("does not change the task or the events it was given", () => {
    const initial = fold(
      opening({ history: [{ messageId: "u1" }] }),
      chunk({ artifactId: "a", parts: [text("1")] }),
      status(WORKING, "w"),
    );
    const initialBefore = structuredClone(initial);
    const events = [chunk({ artifactId: "a", parts: [text("2")] }), said("u2"), status(COMPLETED)];
    const eventsBefore = structuredClone(events);
    const growing = createFold(initial);
    for (const event of events) growing.apply(event);
    expect(growing.task().artifacts[0]?.parts).toHaveLength(2);
    expect(initial).toEqual(initialBefore);
    expect(events).toEqual(eventsBefore);
  });

  it("goes on from a snapshot as if it had never stopped", () => {
    const events = [
      opening({ history: [{ messageId: "u1" }] }),
      status(WORKING),
      chunk({ artifactId: "a", parts: [text("1")], metadata: { x: 1 } }),
      chunk({ artifactId: "b", parts: [text("b")] }),
      chunk({ artifactId: "a", parts: [text("2")], metadata: { y: 1 } }),
      status(INPUT_REQUIRED, "?"),
      said("u2"),
      status(WORKING),
      chunk({ artifactId: "b", parts: [text("c")] }, false),
      status(COMPLETED, "!"),
    ];
    const whole = fold(...events);
    for (let cut = 1; cut < events.length; cut++) {
      const resumed = createFold(fold(...events.slice(0, cut)));
      for (const event of events.slice(cut)) resumed.apply(event);
      expect(resumed.task()).toEqual(whole);
    }
  });

  it("hands out a task that spreads and encodes like any other", () => {
    const task = fold(opening({ history: [{ messageId: "u1" }] }), chunk({ artifactId: "a" }));
    const { history, ...rest } = task;
    expect(history).toHaveLength(1);
    expect(rest.artifacts).toHaveLength(1);
    expect(toBinary(TaskSchema, task)).toEqual(toBinary(TaskSchema, create(TaskSchema, { ...task })));
  });

  it.each([
    ["a log that does not open with a task", [status(WORKING)]],
    ["an entry without payload", [opening(), create(StreamResponseSchema)]],
    [
      "a status update without status",
      [opening(), response({ case: "statusUpdate", value: create(TaskStatusUpdateEventSchema) })],
    ],
    [
      "an artifact update without artifact",
      [opening(), response({ case: "artifactUpdate", value: create(TaskArtifactUpdateEventSchema) })],
    ],
    ["an empty log", []],
  ])("refuses %s as INTERNAL, saying nothing of it to callers", (_, events) => {
    const refused = (() => {
      try {
        return fold(...events);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(refused).toBeInstanceOf(A2AError);
    expect(refused).toMatchObject({ reason: "INTERNAL", message: "Internal error." });
    expect((refused as A2AError).cause).toMatchObject({
      message: expect.stringContaining("broken task log"),
    });
  });

  it("costs the same per chunk at 1 000 and 50 000 chunks, its status read after each", () => {
    const perChunk = (count: number) => {
      const growing = createFold();
      growing.apply(opening());
      const piece = chunk({ artifactId: "a", parts: [text("x")] });
      const start = process.cpuUsage();
      for (let i = 0; i < count; i++) {
        growing.apply(piece);
        if (growing.status?.state !== growing.state) throw new Error("the fold contradicts itself");
      }
      const spent = process.cpuUsage(start);
      return (spent.user + spent.system) / count;
    };
    perChunk(5_000);
    const few = Math.min(perChunk(1_000), perChunk(1_000), perChunk(1_000));
    // A quadratic fold would be fifty times dearer; the wide margin is for a busy machine.
    expect(perChunk(50_000)).toBeLessThan(10 * few + 20);
  });
});
