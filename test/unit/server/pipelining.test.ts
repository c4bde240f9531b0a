import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HttpBinding } from "../../../src/bindings/http.js";
import { DEFAULT_HTTP_LIMITS } from "../../../src/server/http-limits.js";
import { createHttpListener, type HttpListener } from "../../../src/server/http-listener.js";
import { openSocket } from "../../support/raw-socket.js";

/** Bodies that were begun and have not been closed. */
let open = 0;
let listener: HttpListener;
let server: ReturnType<typeof createServer>;
let address: { host: string; port: number };

/** A stream that says one thing and then nothing more. */
async function* endless(caller: { addEventListener(type: "abort", listener: () => void): void }) {
  open += 1;
  try {
    yield "one\n";
    await new Promise<void>((resolve) => caller.addEventListener("abort", resolve));
  } finally {
    open -= 1;
  }
}

const binding: HttpBinding = ({ target, caller }) => {
  if (target === "/page") return undefined;
  const body = target === "/stream" ? endless(caller) : "whole";
  return Promise.resolve({ status: 200, headers: {}, body });
};

beforeEach(async () => {
  open = 0;
  const pages = async () => (_: unknown, res: { end(text: string): unknown }) => void res.end("page");
  listener = createHttpListener({ bindings: [binding], pages }, DEFAULT_HTTP_LIMITS);
  server = createServer(listener.serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  address = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const request = (path: string) => `GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`;

describe.each(["/stream", "/whole", "/page"])(
  "a request for %s behind a stream on its connection",
  (path) => {
    it.each([1, 20])("ends with the connection, as do %i like it", async (count) => {
      const socket = await openSocket(address);
      socket.write(request("/stream") + request(path).repeat(count));
      await once(socket.socket, "data"); // all of it was read at once
      socket.destroy();
      await listener.idle();
      expect(open).toBe(0);
    });

    it("is answered when its turn comes", async () => {
      const socket = await openSocket(address);
      socket.write(request("/whole") + request(path) + request("/stream"));
      let text = "";
      socket.socket.on("data", (piece: Buffer) => {
        text += piece.toString();
      });
      const expected = path === "/stream" ? /whole.*one/s : /whole.*(whole|page).*one/s;
      while (!expected.test(text)) await once(socket.socket, "data");
      socket.destroy();
      await listener.idle();
      expect(open).toBe(0);
    });
  },
);
