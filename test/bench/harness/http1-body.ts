const LINE_FEED = 0x0a;

/** Takes the frames off a chunked body (RFC 9112, 7.1). */
export class ChunkedBody {
  readonly #onBytes: (bytes: Buffer) => void;
  #line = "";
  /** Bytes of the present chunk that have not come yet; undefined between two chunks. */
  #left: number | undefined;

  constructor(onBytes: (bytes: Buffer) => void) {
    this.#onBytes = onBytes;
  }

  /** True when the body is complete; the next one may follow. */
  read(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left !== undefined && this.#left > 0) {
        at = this.#readChunk(bytes, at, this.#left);
        continue;
      }
      const end = bytes.indexOf(LINE_FEED, at);
      this.#line += bytes.toString("latin1", at, end < 0 ? bytes.length : end);
      if (end < 0) return false;
      at = end + 1;
      if (this.#endLine()) return true;
    }
    return false;
  }

  #readChunk(bytes: Buffer, at: number, left: number): number {
    const part = bytes.subarray(at, at + left);
    this.#left = left - part.length;
    this.#onBytes(part);
    return at + part.length;
  }

  /** An empty line closes a chunk, or after the size 0 the body. */
  #endLine(): boolean {
    const line = this.#line.trimEnd();
    this.#line = "";
    if (line !== "") {
      const size = Number.parseInt(line, 16);
      this.#last = size === 0;
      this.#left = size;
      return false;
    }
    this.#left = undefined;
    return this.#last;
  }

  #last = false;
}

const MARK = Buffer.from("data:");

/** Counts the events of an event stream by their data lines. Payloads of the benchmark never hold the mark. */
export class EventCounter {
  /** Bytes of the mark that ended the piece before. */
  #matched = 0;

  count(bytes: Buffer): number {
    let count = 0;
    if (
      this.#matched > 0 &&
      bytes.subarray(0, MARK.length - this.#matched).equals(MARK.subarray(this.#matched))
    ) {
      count += 1;
    }
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) count += 1;
    this.#matched = endingMatch(bytes);
    return count;
  }
}

function endingMatch(bytes: Buffer): number {
  for (let length = Math.min(MARK.length - 1, bytes.length); length > 0; length -= 1) {
    if (bytes.subarray(bytes.length - length).equals(MARK.subarray(0, length))) return length;
  }
  return 0;
}
