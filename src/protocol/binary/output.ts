/** What the buffer starts with, and goes back to after a message that was larger than the limit. */
const START_BYTES = 8 * 1024;
const KEEP_BYTES = 1024 * 1024;
/** A text of so many UTF-16 units takes at most 126 bytes, so its length takes one. */
const SHORT_TEXT = 42;

/** Memory that small messages share, as Node's own Buffers do: memory for each would take longer than all the encoding. */
const POOL_BYTES = 8 * 1024;
const MOST_POOLED = POOL_BYTES / 4;
let pool = new ArrayBuffer(POOL_BYTES);
let taken = 0;

function allocate(bytes: number): Uint8Array {
  if (bytes > MOST_POOLED) return new Uint8Array(bytes);
  if (taken + bytes > POOL_BYTES) {
    pool = new ArrayBuffer(POOL_BYTES);
    taken = 0;
  }
  const start = taken;
  taken += bytes;
  return new Uint8Array(pool, start, bytes);
}

/** Bytes of a message while it is encoded. Used again and again: one message at a time. */
export class BinaryOutput {
  #buffer = Buffer.allocUnsafeSlow(START_BYTES);
  #end = 0;

  /** A copy of what was written; the output is empty after it. */
  take(): Uint8Array {
    const bytes = allocate(this.#end);
    bytes.set(this.#buffer.subarray(0, this.#end));
    this.reset();
    return bytes;
  }

  /** Drops what was written. */
  reset(): void {
    this.#end = 0;
    if (this.#buffer.length > KEEP_BYTES) this.#buffer = Buffer.allocUnsafeSlow(START_BYTES);
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }

  /** A whole number from 0 up to 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    // Above 32 bits there are no bitwise operators; below they are much faster.
    for (; rest > 0x7fff_ffff; rest = Math.floor(rest / 0x80))
      this.#buffer[this.#end++] = (rest % 0x80) | 0x80;
    for (; rest > 0x7f; rest >>>= 7) this.#buffer[this.#end++] = rest | 0x80;
    this.#buffer[this.#end++] = rest;
  }

  /** 64 bits, of which negative numbers take ten bytes. */
  varint64(value: bigint): void {
    if (value >= 0n && value <= Number.MAX_SAFE_INTEGER) this.varint(Number(value));
    else this.#longVarint64(value);
  }

  #longVarint64(value: bigint): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#buffer[this.#end++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#end++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#end = this.#buffer.writeDoubleLE(value, this.#end);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** A length and so many bytes. */
  bytes(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  /** A length and a text in UTF-8; what is no Unicode becomes U+FFFD. */
  text(value: string): void {
    if (value.length <= SHORT_TEXT) this.#shortText(value);
    else this.#longText(value);
  }

  #longText(value: string): void {
    const length = Buffer.byteLength(value);
    this.varint(length);
    this.#reserve(length);
    this.#end += this.#buffer.write(value, this.#end, "utf8");
  }

  /** Most texts are short and ASCII: copying those here is faster than asking for it. */
  #shortText(value: string): void {
    this.#reserve(1 + 3 * value.length);
    const buffer = this.#buffer;
    const start = this.#end + 1;
    let end = start;
    for (let index = 0; index < value.length; index++) {
      const unit = value.charCodeAt(index);
      if (unit > 0x7f) {
        end = start + buffer.write(value, start, "utf8");
        break;
      }
      buffer[end++] = unit;
    }
    buffer[this.#end] = end - start;
    this.#end = end;
  }

  /** Begins something that its length goes before; give what this returns to `close`. */
  open(): number {
    this.#reserve(1);
    return this.#end++;
  }

  /** Writes the length into the byte kept for it, and moves the content where one is too few. */
  close(opened: number): void {
    const start = opened + 1;
    const length = this.#end - start;
    if (length <= 0x7f) {
      this.#buffer[opened] = length;
      return;
    }
    const extra = sizeOfVarint(length) - 1;
    this.#reserve(extra);
    this.#buffer.copyWithin(start + extra, start, this.#end);
    const end = this.#end + extra;
    this.#end = opened;
    this.varint(length);
    this.#end = end;
  }
}

function sizeOfVarint(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}
