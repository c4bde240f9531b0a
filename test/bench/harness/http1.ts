import { connect, type Socket } from "node:net";
import { ChunkedBody, EventCounter } from "./http1-body.js";
import {
  type Caller,
  type CallOptions,
  createFiller,
  nextSequence,
  type Reply,
  type RequestSpec,
} from "./request.js";

type HttpSpec = Extract<RequestSpec, { kind: "http" }>;

/** A thin HTTP/1.1 client on bare sockets, so that the load costs far less than the server. */
export function createHttpCaller(spec: HttpSpec): Caller {
  const fill = createFiller(bytesOf(spec));
  const all = new Set<Connection>();
  const idle: Connection[] = [];
  const open = () => {
    const connection = new Connection(spec.port, spec.stream, () => all.delete(connection));
    all.add(connection);
    return connection;
  };
  return {
    async call(options = {}) {
      const connection = idle.pop() ?? open();
      const reply = await connection.call(fill(nextSequence()), options);
      if (all.has(connection)) idle.push(connection);
      return reply;
    },
    close: () => {
      for (const connection of all) connection.close();
    },
  };
}

function bytesOf({ method, path, headers, body, port }: HttpSpec): Buffer {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = method === "GET" ? "" : `content-length: ${body.length}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${fields.join("")}${length}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

interface Pending {
  readonly options: CallOptions;
  readonly settle: (reply: Reply) => void;
  readonly kept: Buffer[];
  status: number;
  bytes: number;
  events: number;
  /** Bytes that a body of known length still lacks; undefined for a chunked one. */
  left: number | undefined;
}

/** One keep-alive connection with at most one request on it. */
class Connection {
  readonly #socket: Socket;
  readonly #counter: EventCounter | undefined;
  readonly #chunked = new ChunkedBody((bytes) => this.#onBody(bytes));
  #head: Buffer | undefined;
  #pending: Pending | undefined;

  constructor(port: number, stream: boolean, onClose: () => void) {
    this.#counter = stream ? new EventCounter() : undefined;
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("data", (bytes) => this.#onData(bytes));
    this.#socket.on("error", () => this.#socket.destroy());
    this.#socket.on("close", () => {
      onClose();
      this.#settle("the connection broke");
    });
  }

  call(request: Buffer, options: CallOptions): Promise<Reply> {
    return new Promise((settle) => {
      this.#pending = { options, settle, kept: [], status: 0, bytes: 0, events: 0, left: 0 };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(bytes: Buffer): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    if (pending.status > 0) {
      this.#onRest(pending, bytes);
      return;
    }
    const head = this.#head === undefined ? bytes : Buffer.concat([this.#head, bytes]);
    const end = head.indexOf("\r\n\r\n");
    this.#head = end < 0 ? head : undefined;
    if (end < 0) return;
    this.#onHead(pending, head.toString("latin1", 0, end));
    this.#onRest(pending, head.subarray(end + 4));
  }

  #onHead(pending: Pending, head: string): void {
    pending.status = Number(head.slice(9, 12));
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
    pending.left = length === undefined ? undefined : Number(length);
  }

  #onRest(pending: Pending, bytes: Buffer): void {
    if (pending.left === undefined) {
      if (this.#chunked.read(bytes)) this.#settle();
      return;
    }
    pending.left -= bytes.length;
    this.#onBody(bytes);
    if (pending.left <= 0) this.#settle();
  }

  #onBody(bytes: Buffer): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    pending.bytes += bytes.length;
    if (pending.options.keep) pending.kept.push(Buffer.from(bytes));
    const events = this.#counter?.count(bytes) ?? 0;
    pending.events += events;
    if (events > 0) pending.options.onEvents?.(events);
  }

  #settle(broken?: string): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    const { bytes, events, kept, status } = pending;
    const failure = broken ?? (status === 200 ? undefined : `status ${status}`);
    pending.settle({ failure, bytes, events, ...(pending.options.keep && { body: Buffer.concat(kept) }) });
  }
}
