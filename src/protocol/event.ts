import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { decodeBinary, encodeBinary } from "./binary/index.js";
import { binaryDepth, DEEPEST } from "./depth.js";
import { writeJson } from "./json/index.js";
import { type StreamResponse, StreamResponseSchema } from "./schema.js";

/**
 * Nesting of our own bytes, in protobuf messages. They must be readable again: a task holds what was sent or
 * reported a few levels further down.
 */
const STORED_DEPTH = binaryDepth(DEEPEST + 16);

/** Reads what we wrote ourselves, and kept. */
export function fromStored<Desc extends DescMessage>(schema: Desc, binary: Uint8Array): MessageShape<Desc> {
  return decodeBinary(schema, binary, { maxDepth: STORED_DEPTH });
}

/**
 * One item of a stream, shared by all its readers: each form is made at most once, when first asked for.
 * Nothing in it is ever changed.
 */
export class WireEvent {
  /** Number of the event within its task, from 1 without gaps; 0 where the event belongs to no log. */
  readonly number: number;
  #response: StreamResponse | undefined;
  #binary: Uint8Array | undefined;
  #json: string | undefined;

  private constructor(number: number, response: StreamResponse | undefined, binary: Uint8Array | undefined) {
    this.number = number;
    this.#response = response;
    this.#binary = binary;
  }

  static of(response: StreamResponse, number = 0): WireEvent {
    return new WireEvent(number, response, undefined);
  }

  static fromBinary(binary: Uint8Array, number = 0): WireEvent {
    return new WireEvent(number, undefined, binary);
  }

  get response(): StreamResponse {
    this.#response ??= fromStored(StreamResponseSchema, this.#binary as Uint8Array);
    return this.#response;
  }

  /** `<taskId>:<number>`, the id under which a stream is taken up again; undefined where the event belongs to no log. */
  get id(): string | undefined {
    return this.number > 0 ? `${taskIdOf(this.response)}:${this.number}` : undefined;
  }

  /** The StreamResponse as protobuf. */
  get binary(): Uint8Array {
    this.#binary ??= encodeBinary(StreamResponseSchema, this.response);
    return this.#binary;
  }

  /** The StreamResponse as ProtoJSON, one line. */
  get json(): string {
    this.#json ??= inOnePiece(writeJson(StreamResponseSchema, this.response));
    return this.#json;
  }
}

const OPENING_BRACE = 0x7b;

/**
 * An object's text as one string. Until somebody looks into it, V8 keeps a text as a tree of all that it was joined
 * from, ten times as large; kept with an event, those trees were half of what garbage collection had to do.
 */
function inOnePiece(text: string): string {
  if (text.charCodeAt(0) !== OPENING_BRACE) throw new SyntaxError("no JSON object");
  return text;
}

function taskIdOf({ payload }: StreamResponse): string {
  switch (payload.case) {
    case "task":
      return payload.value.id;
    case undefined:
      return "";
    default:
      return payload.value.taskId;
  }
}

/** Reads a stream; what is there already comes without a promise. */
export interface EventIterator<T = WireEvent> extends AsyncIterator<T> {
  /** The next event if it is there already. Throws as `next` rejects. Not while a `next` is waiting. */
  take?(): T | undefined;
}
