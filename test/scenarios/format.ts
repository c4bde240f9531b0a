import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { ERRORS, type Reason } from "../../src/errors.js";
import type { Act } from "../support/scripted-agent.js";

/** A pattern is a part of the value: objects may hold more, lists may not. `$any`, `$absent`, `/regex/`. */
const pattern = z.json();
const json = z.record(z.string(), z.json());
const reason = z.enum([...ERRORS.keys()] as [Reason, ...Reason[]]);

const failure = z.union([
  reason,
  z.strictObject({
    reason,
    text: z.string().optional(),
    violations: z.array(z.string()).optional(),
    metadata: pattern.optional(),
    /** Decoders find it, each in its own words: only the fields named must be the same on every wire. */
    ownWords: z.literal(true).optional(),
    /** For streams: true when events came before it. */
    late: z.boolean().optional(),
  }),
]);

const ask = z.strictObject({
  headers: z.record(z.string(), z.string()).optional(),
  version: z.string().nullable().optional(),
  queryVersion: z.string().optional(),
  addressTenant: z.string().optional(),
  timeoutMs: z.number().optional(),
});

/** What a call is expected to do, and which of its values later steps use. */
const expectation = {
  /** A summary line (see summary.ts) or a pattern. */
  ok: pattern.optional(),
  error: failure.optional(),
  headers: pattern.optional(),
  /** Name → path in the message, for example `task.id`. */
  save: z.record(z.string(), z.string()).optional(),
};

const message = {
  /** Text of the message; the rest of the request is merged in. */
  send: z.string().optional(),
  with: json.optional(),
};

const step = z.union([
  /** A unary call. With `as` it goes on in the background until an `answer` step. */
  z.strictObject({
    call: z.string(),
    request: json.default({}),
    ask: ask.optional(),
    as: z.string().optional(),
    ...expectation,
  }),
  z.strictObject({
    send: z.string(),
    with: json.optional(),
    ask: ask.optional(),
    as: z.string().optional(),
    ...expectation,
  }),
  z.strictObject({ answer: z.string(), ...expectation }),
  /** Opens a stream, which `read` steps read. */
  z.strictObject({
    stream: z.string(),
    as: z.string(),
    request: json.optional(),
    ...message,
    ask: ask.optional(),
  }),
  z.strictObject({
    read: z.string(),
    events: z.array(pattern).default([]),
    headers: pattern.optional(),
    save: z.record(z.string(), z.string()).optional(),
    end: z.literal(true).optional(),
    error: failure.optional(),
  }),
  /** The client of a stream goes away. */
  z.strictObject({ leave: z.string() }),
  z.strictObject({ open: z.string() }),
  /** Waits until the agent has come to a gate. */
  z.strictObject({ reached: z.string() }),
  /** Waits until the agent does nothing. */
  z.strictObject({ idle: z.literal(true) }),
  /** Compares what the agent went through with a pattern. */
  z.strictObject({ agent: pattern }),
]);

const scenario = z.strictObject({
  title: z.string(),
  /** Tags of the wires that it is for (see Wire); empty means all. */
  on: z.array(z.enum(["json", "protobuf", "rpc", "jsonrpc", "rest"])).default([]),
  /** A gateway of its own, where nothing happened before. */
  fresh: z.boolean().default(false),
  scripts: z.record(z.string(), z.array(z.custom<Act>())).default({}),
  steps: z.array(step),
});

export type ScenarioStep = z.infer<typeof step>;
export type Scenario = z.infer<typeof scenario> & { readonly file: string };
export type Expectation = {
  [Name in keyof typeof expectation]?: z.infer<(typeof expectation)[Name]> | undefined;
};
export type Failure = z.infer<typeof failure>;

/** All scenarios of a folder, by file name. */
export function loadScenarios(folder: URL): Scenario[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  return files.sort().flatMap((file) => {
    const text = readFileSync(new URL(file, folder), "utf8");
    const parsed = z.array(scenario).parse(parse(text, { merge: true }), { error: () => file });
    return parsed.map((each) => ({ ...each, file }));
  });
}
