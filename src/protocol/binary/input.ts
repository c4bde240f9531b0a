import { WIRE } from "./shape.js";

/** What invalid UTF-8 turns into, and valid text seldom has. */
const REPLACEMENT = "\ufffd";
/** Bytes of the longest tag: 29 bits of number and 3 of wire type. */
const LONGEST_TAG = 5;
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What a message may have. */
export interface DecodeLimits {
  /** Messages one within the other. Default 100. */
  readonly maxDepth?: number;
  /** Fields that are not known, all together; each is kept at many times its size. Default: no limit. */
  readonly maxUnknown?: number;
}

/** Reads a message from its start to its end. Every method throws where the bytes are no protobuf. */
export class BinaryInput {
  readonly #buffer: Buffer;
  #at = 0;
  #depthLeft: number;
  #unknownLeft: number;

  constructor(bytes: Uint8Array, { maxDepth = 100, maxUnknown = Number.POSITIVE_INFINITY }: DecodeLimits) {
    this.#depthLeft = maxDepth;
    this.#unknownLeft = maxUnknown;
    this.#buffer = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#buffer.length;
  }

  /** Messages that may still be gone into, one within the other. */
  get depthLeft(): number {
    return this.#depthLeft;
  }

  /** Goes into a message. */
  enter(): void {
    this.#depthLeft -= 1;
    if (this.#depthLeft < 0) throw new RangeError("messages are nested too deep");
  }

  /** Goes out of a message that must end here. */
  leave(end: number): void {
    this.#depthLeft += 1;
    this.expect(end);
  }

  expect(end: number): void {
    if (this.#at !== end) throw new RangeError("a field goes beyond the end of its message");
  }

  /** A field's number and wire type. Longer than 32 bits it is none: half of it would name another field. */
  tag(): number {
    const start = this.#at;
    const tag = this.varint();
    const bytes = this.#at - start;
    const fits =
      bytes < LONGEST_TAG || (bytes === LONGEST_TAG && (this.#buffer[this.#at - 1] as number) < 0x10);
    if (!fits) throw new RangeError("a tag is too long");
    return tag;
  }

  /** A varint as an unsigned number; of more than 32 bits only the lower ones count, as in protobuf everywhere. */
  varint(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 70; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new RangeError("a varint is too long");
  }

  int64(): bigint {
    let value = 0;
    for (let scale = 1; scale < 2 ** 49; scale *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return BigInt(value);
    }
    return this.#longInt64(BigInt(value));
  }

  /** What follows the first 49 bits, which a number still holds exactly. */
  #longInt64(start: bigint): bigint {
    let value = start;
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new RangeError("a varint is too long");
  }

  bool(): boolean {
    return this.int64() !== 0n;
  }

  double(): number {
    const start = this.#advance(8);
    return this.#buffer.readDoubleLE(start);
  }

  /** Reads a length; returns where what it belongs to ends. */
  end(): number {
    const length = this.varint();
    if (length > this.#buffer.length - this.#at) throw new RangeError("the message ends too early");
    return this.#at + length;
  }

  /** A copy of what its length goes before. */
  bytes(): Uint8Array {
    return this.take(this.end());
  }

  /** A copy of what comes up to `end`. */
  take(end: number): Uint8Array {
    const bytes = new Uint8Array(this.#buffer.subarray(this.#at, end));
    this.#at = end;
    return bytes;
  }

  text(): string {
    const end = this.end();
    const text = this.#buffer.toString("utf8", this.#at, end);
    if (text.includes(REPLACEMENT)) strict.decode(this.#buffer.subarray(this.#at, end));
    this.#at = end;
    return text;
  }

  /** Passes over a field of any kind and returns a copy of its bytes, without the tag. */
  skip(tag: number): Uint8Array {
    const start = this.#at;
    this.#pass(tag);
    return new Uint8Array(this.#buffer.subarray(start, this.#at));
  }

  /** As `skip`, for a field that is kept. */
  unknown(tag: number): Uint8Array {
    this.#unknownLeft -= 1;
    if (this.#unknownLeft < 0) throw new RangeError("the message has too many unknown fields");
    return this.skip(tag);
  }

  #pass(tag: number): void {
    if (tag < 8) throw new RangeError("there is no field 0");
    switch (tag & 7) {
      case WIRE.varint:
        this.int64();
        break;
      case WIRE.bits64:
        this.#advance(8);
        break;
      case WIRE.delimited:
        this.#at = this.end();
        break;
      case WIRE.groupStart:
        this.#passGroup(tag);
        break;
      case WIRE.bits32:
        this.#advance(4);
        break;
      default:
        throw new RangeError(`a field has wire type ${tag & 7}`);
    }
  }

  #passGroup(tag: number): void {
    const end = tag - WIRE.groupStart + WIRE.groupEnd;
    this.enter();
    for (let inner = this.tag(); inner !== end; inner = this.tag()) this.#pass(inner);
    this.leave(this.#at);
  }

  #byte(): number {
    const byte = this.#buffer[this.#at];
    if (byte === undefined) throw new RangeError("the message ends too early");
    this.#at += 1;
    return byte;
  }

  #advance(bytes: number): number {
    const start = this.#at;
    if (bytes > this.#buffer.length - start) throw new RangeError("the message ends too early");
    this.#at += bytes;
    return start;
  }
}
