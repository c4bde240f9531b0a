import { connect, type Socket } from "node:net";
import {
  type Caller,
  type CallOptions,
  createFiller,
  nextSequence,
  type Reply,
  type RequestSpec,
} from "./request.js";

type GrpcSpec = Extract<RequestSpec, { kind: "grpc" }>;

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;
const FRAME_HEAD = 9;
/** Bytes that are read before the connection's window is opened again. */
const WINDOW_STEP = 2 ** 28;

/**
 * A thin gRPC client: HTTP/2 frames on bare sockets (RFC 9113), so that the load costs far less than the server.
 * It reads no header block; an answer without a message is an error. Calls take the connections in turn.
 */
export function createGrpcCaller(spec: GrpcSpec, connections: number): Caller {
  const lines = Array.from({ length: connections }, () => new Connection(spec));
  let turn = 0;
  return {
    call(options = {}) {
      turn = (turn + 1) % lines.length;
      return (lines[turn] as Connection).call(options);
    },
    close: () => {
      for (const line of lines) line.close();
    },
  };
}

interface Pending {
  readonly options: CallOptions;
  readonly settle: (reply: Reply) => void;
  readonly kept: Buffer[];
  readonly messages: MessageCounter;
  bytes: number;
}

class Connection {
  readonly #socket: Socket;
  readonly #first: Buffer;
  readonly #later: Buffer;
  readonly #fill: (sequence: number) => Buffer;
  readonly #calls = new Map<number, Pending>();
  #rest: Buffer | undefined;
  #nextId = 1;
  #unacknowledged = 0;
  #corked = false;

  constructor(spec: GrpcSpec) {
    const blocks = headerBlocks(spec);
    this.#first = blocks.first;
    this.#later = blocks.later;
    this.#fill = createFiller(frame(DATA, END_STREAM, 0, withPrefix(spec.body)));
    this.#socket = connect({ port: spec.port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("data", (bytes) => this.#onData(bytes));
    this.#socket.on("error", () => this.#socket.destroy());
    this.#socket.on("close", () => {
      for (const id of this.#calls.keys()) this.#settle(id, "the connection broke");
    });
    this.#socket.write(PREFACE);
  }

  call(options: CallOptions): Promise<Reply> {
    return new Promise((settle) => {
      const id = this.#nextId;
      this.#nextId += 2;
      this.#calls.set(id, { options, settle, kept: [], messages: new MessageCounter(), bytes: 0 });
      const data = this.#fill(nextSequence());
      data.writeUInt32BE(id, 5);
      this.#cork();
      this.#socket.write(frame(HEADERS, END_HEADERS, id, id === 1 ? this.#first : this.#later));
      this.#socket.write(data);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Calls that start in one tick leave in one write. */
  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#socket.cork();
    setImmediate(() => {
      this.#corked = false;
      this.#socket.uncork();
    });
  }

  #onData(bytes: Buffer): void {
    let rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    while (rest.length >= FRAME_HEAD) {
      const end = FRAME_HEAD + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      this.#onFrame(
        rest[3] as number,
        rest[4] as number,
        rest.readUInt32BE(5),
        rest.subarray(FRAME_HEAD, end),
      );
      rest = rest.subarray(end);
    }
    this.#rest = rest.length === 0 ? undefined : rest;
  }

  #onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case DATA:
        this.#onMessageBytes(id, payload);
        break;
      case HEADERS:
        break;
      case RST_STREAM:
        this.#settle(id, "the stream was reset");
        return;
      case SETTINGS:
        if ((flags & ACK) === 0) this.#socket.write(frame(SETTINGS, ACK, 0, EMPTY));
        return;
      case PING:
        if ((flags & ACK) === 0) this.#socket.write(frame(PING, ACK, 0, payload));
        return;
      case GOAWAY:
        this.#socket.destroy();
        return;
      default:
        return;
    }
    if ((flags & END_STREAM) !== 0) this.#settle(id);
  }

  #onMessageBytes(id: number, payload: Buffer): void {
    this.#acknowledge(payload.length);
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.bytes += payload.length;
    if (call.options.keep) call.kept.push(Buffer.from(payload));
    const events = call.messages.count(payload);
    if (events > 0) call.options.onEvents?.(events);
  }

  #acknowledge(length: number): void {
    this.#unacknowledged += length;
    if (this.#unacknowledged < WINDOW_STEP) return;
    this.#socket.write(windowUpdate(this.#unacknowledged));
    this.#unacknowledged = 0;
  }

  #settle(id: number, broken?: string): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    const { bytes, messages, kept } = call;
    const events = messages.total;
    const failure = broken ?? (events > 0 ? undefined : "no message came");
    call.settle({ failure, bytes, events, ...(call.options.keep && { body: Buffer.concat(kept) }) });
  }
}

/** Counts length-prefixed messages, however the frames cut them. */
class MessageCounter {
  total = 0;
  readonly #prefix = Buffer.alloc(5);
  #filled = 0;
  #left = 0;

  /** Messages that ended in this piece. */
  count(bytes: Buffer): number {
    const before = this.total;
    let at = 0;
    while (at < bytes.length) {
      at = this.#filled < 5 ? this.#readPrefix(bytes, at) : this.#skip(bytes, at);
      if (this.#filled === 5 && this.#left === 0) {
        this.total += 1;
        this.#filled = 0;
      }
    }
    return this.total - before;
  }

  #readPrefix(bytes: Buffer, at: number): number {
    const taken = bytes.copy(this.#prefix, this.#filled, at, at + 5 - this.#filled);
    this.#filled += taken;
    if (this.#filled === 5) this.#left = this.#prefix.readUInt32BE(1);
    return at + taken;
  }

  #skip(bytes: Buffer, at: number): number {
    const taken = Math.min(this.#left, bytes.length - at);
    this.#left -= taken;
    return at + taken;
  }
}

const EMPTY = Buffer.alloc(0);

function frame(type: number, flags: number, id: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

function windowUpdate(bytes: number): Buffer {
  const step = Buffer.alloc(4);
  step.writeUInt32BE(bytes);
  return frame(WINDOW_UPDATE, 0, 0, step);
}

/** The client's first bytes: no push, the largest window for each stream and, nearly, for the connection. */
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1"),
  frame(SETTINGS, 0, 0, Buffer.from([0, 2, 0, 0, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff])),
  windowUpdate(2 ** 30),
]);

function withPrefix(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Entries of HPACK's static table (RFC 7541, appendix A). */
const METHOD_POST = 0x83;
const SCHEME_HTTP = 0x86;
/** First entry of the dynamic table. */
const DYNAMIC = 62;

/**
 * Header blocks as ordinary clients write them: the first call of a connection puts its fields into the dynamic
 * table, later ones name them by number. The table's newest entry has the lowest number.
 */
function headerBlocks({ path, port }: GrpcSpec): { readonly first: Buffer; readonly later: Buffer } {
  const fields = Object.entries({
    ":path": path,
    ":authority": `127.0.0.1:${port}`,
    "content-type": "application/grpc",
    te: "trailers",
    "a2a-version": "1.0",
    "user-agent": "bench/1.0",
  });
  const statics = Buffer.from([METHOD_POST, SCHEME_HTTP]);
  const numbers = fields.map((_, index) => 0x80 | (DYNAMIC + fields.length - 1 - index));
  return {
    first: Buffer.concat([statics, ...fields.map(([name, value]) => literal(name, value))]),
    later: Buffer.concat([statics, Buffer.from(numbers)]),
  };
}

/** A field that joins the dynamic table; texts are shorter than 127 bytes and not Huffman-coded. */
function literal(name: string, value: string): Buffer {
  const text = (content: string) => [Buffer.from([content.length]), Buffer.from(content, "latin1")];
  return Buffer.concat([Buffer.from([0x40]), ...text(name), ...text(value)]);
}
