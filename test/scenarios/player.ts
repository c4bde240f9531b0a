import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ERRORS } from "../../src/errors.js";
import type { Answer, AskOptions, NeutralError, Step, WireStream } from "../support/wires/index.js";
import { statesNumbers } from "../support/wires/neutral.js";
import type { Expectation, Failure, Scenario, ScenarioStep } from "./format.js";
import { commonPart, createNormalForm, type NormalForm } from "./normal-form.js";
import { mismatch } from "./pattern.js";
import type { Stage } from "./stage.js";
import { summaryOf } from "./summary.js";

/** What a scenario saw, in normal form: the same on every wire. */
export type Transcript = readonly JsonValue[];

interface Play extends Stage {
  readonly names: Map<string, string>;
  readonly answers: Map<string, Promise<Answer>>;
  readonly streams: Map<string, WireStream>;
  readonly normal: NormalForm;
  readonly transcript: JsonValue[];
}

/** Plays a scenario over one wire. Fails with the number of the step that did not do what it says. */
export async function play(scenario: Scenario, stage: Stage): Promise<Transcript> {
  const { agent, quiet } = stage;
  agent.load(scenario.scripts);
  const transcript: JsonValue[] = [];
  const scene: Play = {
    ...stage,
    names: new Map([
      ["context", randomUUID()],
      ["large", "x".repeat(70_000)],
      ["lone", "\ud800"],
    ]),
    answers: new Map(),
    streams: new Map(),
    normal: createNormalForm(),
    transcript,
  };
  try {
    for (const [index, step] of scenario.steps.entries()) {
      await perform(scene, step).catch((error: Error) => {
        error.message = `step ${index + 1} (${JSON.stringify(step).slice(0, 120)}): ${error.message}`;
        throw error;
      });
    }
    return transcript;
  } finally {
    for (const stream of scene.streams.values()) stream.cancel();
    agent.gates.openAll();
    await within(2000, agent.idle(), "the agent's runs end");
    await quiet();
  }
}

async function perform(scene: Play, written: ScenarioStep): Promise<void> {
  const step = filled(written, scene.names);
  if ("open" in step) return scene.agent.gates.open(step.open);
  if ("reached" in step) return scene.agent.gates.reached(step.reached).then(scene.quiet);
  if ("idle" in step) return scene.agent.idle().then(scene.quiet);
  if ("agent" in step) return expectMatch(step.agent, plain(scene.agent.record));
  if ("leave" in step) return named(scene.streams, step.leave).cancel();
  if ("read" in step) return read(scene, step);
  if ("stream" in step) {
    const request = step.request ?? messageRequest(step.send ?? "", step.with);
    scene.streams.set(step.as, scene.client.stream(step.stream, request, askOf(step.ask)));
    return;
  }
  if ("answer" in step) return expectAnswer(scene, await named(scene.answers, step.answer), step);
  const [method, request] =
    "call" in step ? [step.call, step.request] : ["SendMessage", messageRequest(step.send, step.with)];
  const answer = scene.client.call(method, request as JsonObject, askOf(step.ask));
  if (step.as === undefined) return expectAnswer(scene, await answer, step);
  answer.catch(() => undefined); // reported by the step that reads it
  scene.answers.set(step.as, answer);
}

function expectAnswer(scene: Play, answer: Answer, expected: Expectation): void {
  if (expected.headers !== undefined) expectMatch(expected.headers, plain(answer.headers));
  if (answer.kind === "error") {
    assert.ok(expected.error !== undefined, `unexpected error ${JSON.stringify(answer.error)}`);
    expectError(answer.error, expected.error);
    note(scene, answer.error, expected.error);
    return;
  }
  assert.ok(expected.error === undefined, `expected an error, got ${JSON.stringify(answer.message)}`);
  if (expected.ok !== undefined) expectMessage(expected.ok, answer.message);
  save(scene, expected.save, answer.message);
  scene.transcript.push(scene.normal(answer.message));
}

async function read(scene: Play, expected: Extract<ScenarioStep, { read: string }>): Promise<void> {
  const stream = named(scene.streams, expected.read);
  let last: Step = { kind: "end" };
  for (const pattern of expected.events) {
    last = await stream.next();
    assert.ok(last.kind === "event", `expected ${JSON.stringify(pattern)}, got ${JSON.stringify(last)}`);
    expectMessage(pattern, last.message);
    scene.transcript.push(scene.normal(last.message));
  }
  if (expected.end || expected.error) last = await stream.next();
  if (expected.end) assert.equal(last.kind, "end", `expected the end, got ${JSON.stringify(last)}`);
  if (expected.error) {
    assert.ok(last.kind === "error", `expected an error, got ${JSON.stringify(last)}`);
    const late = typeof expected.error === "object" && expected.error.late === true;
    assert.equal(
      last.first,
      !late,
      late ? "the error comes after events" : "the error comes before any event",
    );
    expectError(last.error, expected.error);
    note(scene, last.error, expected.error);
  }
  if (last.kind === "end") return;
  if (expected.headers !== undefined) expectMatch(expected.headers, plain(last.headers));
  if (last.kind === "event") save(scene, expected.save, last.message);
}

function note(scene: Play, error: NeutralError, expected: Failure): void {
  const { violations = [], ...common } = error;
  const ownWords = typeof expected === "object" && expected.ownWords === true;
  const told = {
    ...common,
    message: "",
    violations: violations.map(({ field }) => ({ field, description: "" })),
  };
  scene.transcript.push(scene.normal({ error: commonPart(ownWords ? told : error) }));
}

function expectError(error: NeutralError, expected: Failure): void {
  const { reason, text, violations, metadata } =
    typeof expected === "string" ? { reason: expected } : expected;
  const row = ERRORS.get(reason);
  assert.ok(row);
  assert.deepEqual(
    { code: error.code, reason: error.reason },
    { code: row.code, reason: row.info },
    error.message,
  );
  assert.ok(statesNumbers(row, error.numbers), `${reason} is not stated by ${JSON.stringify(error.numbers)}`);
  if (text !== undefined) expectMatch(text, error.message);
  if (violations !== undefined) {
    assert.deepEqual(
      error.violations?.map(({ field }) => field),
      violations,
    );
  }
  if (metadata !== undefined) expectMatch(metadata, plain(error.metadata ?? {}));
}

function expectMessage(pattern: JsonValue, message: JsonValue): void {
  if (typeof pattern === "string" && pattern !== "$any")
    assert.equal(summaryOf(message), pattern, JSON.stringify(message));
  else expectMatch(pattern, message);
}

function expectMatch(pattern: JsonValue, value: JsonValue): void {
  const difference = mismatch(pattern, value);
  assert.ok(difference === undefined, difference);
}

function save(scene: Play, paths: Readonly<Record<string, string>> = {}, message: JsonValue): void {
  for (const [name, path] of Object.entries(paths)) {
    const value = path
      .split(".")
      .reduce<JsonValue | undefined>((at, key) => (at as JsonObject | undefined)?.[key], message);
    assert.equal(typeof value, "string", `${path} is a text in ${JSON.stringify(message)}`);
    scene.names.set(name, value as string);
  }
}

/** A request with one message, whose id is fresh unless the scenario gives one. */
function messageRequest(text: string, more: JsonObject = {}): JsonObject {
  const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  return { ...more, message: { ...message, ...((more.message ?? {}) as JsonObject) } };
}

async function within(limitMs: number, wait: Promise<void>, what: string): Promise<void> {
  const { promise, clear } = late(limitMs, what);
  await Promise.race([wait, promise]).finally(clear);
}

function late(limitMs: number, what: string): { promise: Promise<never>; clear: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${limitMs} ms: ${what}`)), limitMs);
  });
  return { promise, clear: () => clearTimeout(timer) };
}

/** `${name}` in any text becomes the value saved under that name. */
function filled<T>(value: T, names: ReadonlyMap<string, string>): T {
  const text = JSON.stringify(value).replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const found = names.get(name);
    assert.ok(found !== undefined, `nothing is saved as ${name}`);
    return JSON.stringify(found).slice(1, -1);
  });
  return JSON.parse(text) as T;
}

function named<T>(map: ReadonlyMap<string, T>, name: string): T {
  const found = map.get(name);
  assert.ok(found !== undefined, `there is no ${name}`);
  return found;
}

function askOf(ask: object | undefined): AskOptions {
  return (ask ?? {}) as AskOptions;
}

function plain(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
