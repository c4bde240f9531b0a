import { connect, type Socket } from "node:net";
import type { HttpAddress } from "./http-client.js";

/** A TCP connection that a test writes to byte by byte. */
export interface RawSocket {
  readonly socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** Resolves with everything when the other side has closed. */
  closed(): Promise<Buffer>;
  destroy(): void;
}

export async function openSocket({ host, port }: HttpAddress): Promise<RawSocket> {
  const socket = connect({ host, port });
  socket.on("error", () => undefined); // a reset is a way to close
  const pieces: Buffer[] = [];
  socket.on("data", (piece) => pieces.push(piece));
  await new Promise<void>((resolve) => {
    socket.once("connect", () => resolve());
    socket.once("close", () => resolve());
  });
  const closed = () =>
    new Promise<Buffer>((resolve) => {
      if (socket.closed) resolve(Buffer.concat(pieces));
      else socket.once("close", () => resolve(Buffer.concat(pieces)));
    });
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    closed,
    destroy: () => void socket.destroy(),
  };
}

/** One HTTP/1.1 exchange on a connection of its own; resolves with the raw response. */
export async function exchange(address: HttpAddress, request: string | Uint8Array): Promise<Buffer> {
  const raw = await openSocket(address);
  raw.write(request);
  const response = await raw.closed();
  raw.destroy();
  return response;
}

/** A raw HTTP/1.1 request that asks the other side to close afterwards. */
export function rawRequest(line: string, headers: readonly string[], body: string | Uint8Array = ""): Buffer {
  const bytes = Buffer.from(body as string);
  const length = bytes.length > 0 ? [`content-length: ${bytes.length}`] : [];
  const head = [`${line} HTTP/1.1`, "host: test", "connection: close", ...headers, ...length, "", ""].join(
    "\r\n",
  );
  return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
}
