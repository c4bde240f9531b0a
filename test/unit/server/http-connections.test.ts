import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import { get as httpsGet } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { createPages } from "../../../src/server/pages.js";
import { textOf } from "../../support/http-client.js";
import { always, createHostStarter, createIdleBody, envelopeIn, ok, said } from "../../support/http-start.js";
import { TEST_TLS } from "../../support/tls.js";

const { start, stopAll } = createHostStarter();
afterEach(stopAll);

const hello = always(({ httpVersion }) => ok(`hello over ${httpVersion}`));
/** What a client says first: the preface and empty SETTINGS, then GET / with four indexed fields and `:authority: x`. */
const HTTP2_GET = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
  Buffer.from([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x86, 0x41, 1, 0x78]),
]);

/** Resolves when the connection has said `text`. */
function hears(socket: Socket, text: string): Promise<void> {
  let heard = "";
  return new Promise((resolve, reject) => {
    socket.setEncoding("latin1").on("data", (piece) => {
      heard += piece;
      if (heard.includes(text)) resolve();
    });
    socket.on("close", () => reject(new Error(`closed after ${JSON.stringify(heard)}`)));
  });
}

describe("the first bytes of a connection", () => {
  it("may come cut anywhere", async () => {
    const { raw } = await start({ bindings: [hello] });
    for (let cut = 1; cut < HTTP2_GET.length; cut++) {
      const socket = (await raw()).setNoDelay();
      const heard = hears(socket, "hello over 2");
      socket.write(HTTP2_GET.subarray(0, cut));
      await delay(2);
      socket.write(HTTP2_GET.subarray(cut));
      await heard;
      socket.destroy();
    }
    const request = Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    for (let cut = 1; cut < 6; cut++) {
      const socket = (await raw()).setNoDelay();
      const heard = hears(socket, "hello over 1");
      socket.write(request.subarray(0, cut));
      await delay(2);
      socket.write(request.subarray(cut));
      await heard;
      socket.destroy();
    }
  });

  it("may come one by one", async () => {
    const { raw } = await start({ bindings: [hello] });
    const socket = (await raw()).setNoDelay();
    const heard = hears(socket, "hello over 2");
    for (const byte of HTTP2_GET) {
      socket.write(Buffer.of(byte));
      await delay(1);
    }
    await heard;
  });

  it("have a time limit, with an answer when something was said", async () => {
    const { raw } = await start({ limits: { headersTimeoutMs: 150, checkIntervalMs: 50 } });
    const silent = await raw();
    const short = await raw();
    short.write("GE");
    const cut = await raw();
    cut.write("GET / HTTP/1.1\r\nhost: x\r\n");
    const [nothing, ...late] = await Promise.all([said(silent), said(short), said(cut)]);
    expect(nothing).toBe("");
    for (const text of late) {
      expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(envelopeIn(text)).toMatchObject({ code: 408, status: "DEADLINE_EXCEEDED" });
    }
  });

  it("may be few, from a client that ends at once", async () => {
    const { raw, client } = await start({ bindings: [hello] });
    const socket = await raw();
    const text = said(socket);
    socket.end("GE");
    expect(envelopeIn(await text).code).toBe(400);
    const reset = await raw();
    reset.write("P");
    reset.resetAndDestroy();
    expect((await client(1).ask({ method: "GET", path: "/" })).status).toBe(200);
  });
});

describe("what is no good HTTP", () => {
  it.each([
    ["no request line", "hello\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 400],
    [
      "a length and chunks",
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
      400,
    ],
    ["a control character in a field", "GET / HTTP/1.1\r\nhost: x\r\na: \u0001\r\n\r\n", 400],
    ["a space in the target", "GET /a b HTTP/1.1\r\nhost: x\r\n\r\n", 400],
    ["fields beyond the limit", `GET / HTTP/1.1\r\nhost: x\r\na: ${"x".repeat(20_000)}\r\n\r\n`, 431],
  ])("%s is answered with our envelope and closes", async (_, request, status) => {
    const { raw } = await start({ bindings: [hello] });
    const socket = await raw();
    const text = said(socket);
    socket.write(request);
    const answer = await text;
    expect(answer.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
    expect(answer).toContain("content-type: application/json");
    expect(envelopeIn(answer).code).toBe(status);
  });

  it("after a begun answer closes without a second one", async () => {
    const { body, idle, closed } = createIdleBody();
    const { raw } = await start({ bindings: [always(() => ok(body))] });
    const socket = await raw();
    const text = said(socket);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await idle;
    socket.write("rubbish\r\n\r\n");
    await closed;
    expect((await text).match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  it.each([1, 2] as const)("a target beyond the limit is 414 over HTTP/%s", async (version) => {
    const { client } = await start({ bindings: [hello] });
    const answer = await client(version).ask({ method: "GET", path: `/${"x".repeat(8 * 1024)}` });
    expect(answer.status).toBe(414);
    expect(envelopeIn(await textOf(answer)).status).toBe("RESOURCE_EXHAUSTED");
  });
});

describe("HTTP/2 requests", () => {
  it("with header fields beyond the limit are 431", async () => {
    const { client } = await start({ bindings: [hello] });
    const http = client(2);
    const headers = { "x-large": "y".repeat(16 * 1024) };
    const answer = await http.ask({ method: "GET", path: "/", headers });
    expect([answer.status, envelopeIn(await textOf(answer)).status]).toEqual([431, "RESOURCE_EXHAUSTED"]);
    expect((await http.ask({ method: "GET", path: "/" })).status).toBe(200);
  });
});

describe("unusual requests", () => {
  it("with Upgrade: h2c are served over HTTP/1.1, body and all (Java's client)", async () => {
    const { client } = await start({ bindings: [hello] });
    const answer = await client(1).ask({
      method: "POST",
      path: "/",
      headers: {
        connection: "Upgrade, HTTP2-Settings",
        upgrade: "h2c",
        "http2-settings": "AAMAAABkAAQAAP__",
      },
      body: "{}",
    });
    expect([answer.status, await textOf(answer)]).toEqual([200, "hello over 1"]);
  });

  it("with a target in absolute form mean its path", async () => {
    const { raw } = await start({ bindings: [always(({ target }) => ok(`<${target}>`))] });
    for (const [sent, seen] of [
      ["http://gateway.example:8080/tasks/t1?x", "/tasks/t1?x"],
      ["HTTPS://gateway.example", "/"],
      ["http://gateway.example?x=/", "/?x=/"],
      ["//tasks", "//tasks"],
    ]) {
      const socket = await raw();
      socket.write(`GET ${sent} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await hears(socket, `<${seen}>`);
    }
  });

  it("for everything (OPTIONS *) or a tunnel (CONNECT) do no harm", async () => {
    const { raw, client } = await start({ routers: [createPages({ ready: () => true })] });
    const star = await raw();
    star.write("OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n");
    await hears(star, "NOT_FOUND");
    const tunnel = await raw();
    const text = said(tunnel);
    tunnel.write("CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n");
    expect(await text).toBe("");
    expect((await client(1).ask({ method: "GET", path: "/health" })).status).toBe(200);
  });
});

describe("HTTP/2 connections", () => {
  it("end their calls when the client closes without a word", async () => {
    const { body, idle, closed } = createIdleBody();
    const { raw } = await start({ bindings: [always(() => ok(body))] });
    const socket = await raw();
    socket.resume().write(HTTP2_GET);
    await idle;
    const at = Date.now();
    socket.end();
    expect((await closed) - at).toBeLessThan(100);
  });

  it("that open and reset streams in quick succession are ended", async () => {
    const { port } = await start({ bindings: [always(() => new Promise(() => undefined))] });
    const session = connectHttp2(`http://127.0.0.1:${port}`).on("error", () => undefined);
    const ended = new Promise((resolve) => session.on("close", resolve));
    let sent = 0;
    while (!session.destroyed && sent < 20_000) {
      for (let i = 0; i < 50 && !session.destroyed; i++, sent++) {
        session
          .request({ ":path": "/" })
          .on("error", () => undefined)
          .close(constants.NGHTTP2_CANCEL);
      }
      await delay(0);
    }
    await ended;
    expect(sent).toBeLessThan(3_000);
  });

  it("state how many calls they take, and are closed when nothing runs on them", async () => {
    const { port } = await start({
      bindings: [hello],
      limits: { idleTimeoutMs: 20, streamsPerConnection: 7 },
    });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    await once(session, "remoteSettings");
    expect(session.remoteSettings.maxConcurrentStreams).toBe(7);
    await once(session, "close");
  });

  it("are kept while a call is open, though nothing is said", async () => {
    const { body, idle, closed } = createIdleBody();
    const { port } = await start({ bindings: [always(() => ok(body))], limits: { idleTimeoutMs: 10 } });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const stream = session.request({ ":path": "/" });
    stream.resume();
    await idle;
    await delay(300);
    expect(session.destroyed).toBe(false);
    stream.close(constants.NGHTTP2_CANCEL);
    await closed;
    session.destroy();
  });
});

describe("TLS", () => {
  it("offers both versions by ALPN, and HTTP/1.1 to a client that asks for nothing", async () => {
    const { port } = await start({
      bindings: [hello],
      routers: [createPages({ ready: () => true })],
      tls: TEST_TLS,
    });
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    const stream = session.request({ ":path": "/" }).setEncoding("utf8");
    expect((await stream.toArray()).join("")).toBe("hello over 2");
    session.destroy();
    const answer = await new Promise<string>((resolve, reject) => {
      httpsGet({ host: "127.0.0.1", port, rejectUnauthorized: false, agent: false }, (response) => {
        response
          .setEncoding("utf8")
          .toArray()
          .then((pieces) => resolve(pieces.join("")), reject);
      }).on("error", reject);
    });
    expect(answer).toBe("hello over 1");
  });

  it("survives a client that speaks plain HTTP to it", async () => {
    const { raw, port } = await start({ bindings: [hello], tls: TEST_TLS });
    const socket = await raw();
    const text = said(socket);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await text;
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    await once(session, "connect");
    session.destroy();
  });
});
