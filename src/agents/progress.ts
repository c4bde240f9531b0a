import { randomUUID } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Artifact, TaskState } from "../protocol/schema.js";
import type { Outcome, Progress } from "./agent.js";
import { type Content, partsOf } from "./content.js";

/** What a status or an outcome may carry besides its content. */
export interface StatusOptions {
  readonly metadata?: JsonObject;
}

/** How an artifact is put out. */
export interface ArtifactOptions {
  /** Unique within the task. Unset: a fresh one. */
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: JsonObject;
  /** URIs of the extensions that the artifact uses. */
  readonly extensions?: readonly string[];
}

/** How a piece of an artifact is put out. */
export interface ChunkOptions extends ArtifactOptions {
  /** True: the parts join those of the artifact with the same id. Default false: they replace them. */
  readonly append?: boolean;
  /** False: more of this artifact follows. Default true. */
  readonly lastChunk?: boolean;
}

/** Progress: the task is being worked on. With content, that is what the caller sees as its status. */
export function working(content?: Content, options: StatusOptions = {}): Progress {
  return { kind: "status", state: TaskState.WORKING, ...withContent(content), ...options };
}

/**
 * Progress: the user has to authorize something while the work goes on. What the user sends meanwhile comes
 * in `turn.inbox`. To end the turn instead, return `askAuth(…)`.
 */
export function authPending(content: Content, options: StatusOptions = {}): Progress {
  return { kind: "status", state: TaskState.AUTH_REQUIRED, ...withContent(content), ...options };
}

/** Progress: an artifact, or one piece of it. */
export function artifact(content: Content, options: ChunkOptions = {}): Progress {
  const { id = randomUUID(), append = false, lastChunk = true, metadata } = options;
  const { name = "", description = "", extensions = [] } = options;
  const made: Artifact = {
    $typeName: "lf.a2a.v1.Artifact",
    artifactId: id,
    name,
    description,
    parts: partsOf(content),
    extensions: [...extensions],
  };
  if (metadata !== undefined) made.metadata = metadata;
  return { kind: "artifact", artifact: made, append, lastChunk };
}

/**
 * Progress: one artifact, piece by piece as the source gives them; use it as `yield* stream(…)`. The last
 * piece of an ordinary iterable is marked as such. Pieces of an asynchronous one go out at once, so none is
 * known to be the last. A source without pieces makes no artifact.
 */
export async function* stream(
  source: Iterable<Content> | AsyncIterable<Content>,
  options: ArtifactOptions = {},
): AsyncGenerator<Progress, void> {
  const id = options.id ?? randomUUID();
  let append = false;
  for await (const { piece, last } of Symbol.asyncIterator in source ? unmarked(source) : marked(source)) {
    yield artifact(piece, append ? { id, append, lastChunk: last } : { ...options, id, lastChunk: last });
    append = true;
  }
}

interface Piece {
  readonly piece: Content;
  readonly last: boolean;
}

async function* unmarked(source: AsyncIterable<Content>): AsyncGenerator<Piece> {
  for await (const piece of source) yield { piece, last: false };
}

function* marked(source: Iterable<Content>): Generator<Piece> {
  let held: { readonly piece: Content } | undefined;
  for (const piece of source) {
    if (held !== undefined) yield { ...held, last: false };
    held = { piece };
  }
  if (held !== undefined) yield { ...held, last: true };
}

/** Outcome: the task is done. */
export function complete(content?: Content, options: StatusOptions = {}): Outcome {
  return { state: TaskState.COMPLETED, ...withContent(content), ...options };
}

/** Outcome: the task could not be done. */
export function fail(content?: Content, options: StatusOptions = {}): Outcome {
  return { state: TaskState.FAILED, ...withContent(content), ...options };
}

/** Outcome: the agent will not do the task. */
export function reject(content?: Content, options: StatusOptions = {}): Outcome {
  return { state: TaskState.REJECTED, ...withContent(content), ...options };
}

/** Outcome: the agent stopped because it was asked to; return it once `signal` is aborted. */
export function canceled(content?: Content, options: StatusOptions = {}): Outcome {
  return { state: TaskState.CANCELED, ...withContent(content), ...options };
}

/** Outcome: the turn is over until the user answers; the answer begins the task's next turn. */
export function askInput(content?: Content, options: StatusOptions = {}): Outcome {
  return { state: TaskState.INPUT_REQUIRED, ...withContent(content), ...options };
}

/** Outcome: the turn is over until the user has authorized something and sends a message. */
export function askAuth(content?: Content, options: StatusOptions = {}): Outcome {
  return { state: TaskState.AUTH_REQUIRED, ...withContent(content), ...options };
}

function withContent(content: Content | undefined): Pick<Outcome, "parts"> {
  return content === undefined ? {} : { parts: partsOf(content) };
}
