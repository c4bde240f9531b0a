import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { writeJson } from "./json/index.js";
import { type StreamResponse, StreamResponseSchema } from "./schema.js";

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
    this.#response ??= fromBinary(StreamResponseSchema, this.#binary as Uint8Array);
    return this.#response;
  }

  /** The StreamResponse as protobuf. */
  get binary(): Uint8Array {
    this.#binary ??= toBinary(StreamResponseSchema, this.response);
    return this.#binary;
  }

  /** The StreamResponse as ProtoJSON, one line. */
  get json(): string {
    this.#json ??= writeJson(StreamResponseSchema, this.response);
    return this.#json;
  }
}
