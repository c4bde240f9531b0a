import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { afterEach, describe, expect, it } from "vitest";
import type { HttpBinding } from "../../../src/bindings/http.js";
import { A2AError } from "../../../src/errors.js";
import { createPages } from "../../../src/server/pages.js";
import { bytesOf, textOf } from "../../support/http-client.js";
import { always, createHostStarter, createIdleBody, ok, said } from "../../support/http-start.js";

const { start, stopAll } = createHostStarter();
afterEach(stopAll);

/** A stream that goes on until its call is ended, and then says why, as the wires do. */
const endless: HttpBinding = always(({ caller: { signal } }) =>
  ok(
    (async function* () {
      yield "open;";
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      yield signal.reason instanceof A2AError ? signal.reason.reason : "left";
    })(),
  ),
);

/** A binding whose answer waits until it is let go. */
function createSlow() {
  let asked: () => void = () => undefined;
  let release: () => void = () => undefined;
  const called = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const binding = always(async () => {
    asked();
    await gate;
    return ok("done");
  });
  return { binding, called, release: () => release() };
}

describe.each([1, 2] as const)("draining, HTTP/%s", (version) => {
  it("closes idle connections and resolves", async () => {
    const { client, host } = await start({ routers: [createPages({ ready: () => true })] });
    const http = client(version);
    await textOf(await http.ask({ method: "GET", path: "/health" }));
    const at = Date.now();
    await host.drain(10_000);
    expect(Date.now() - at).toBeLessThan(1_000);
    await expect((async () => http.ask({ method: "GET", path: "/health" }))()).rejects.toThrow();
  });

  it("lets an open call end, and tells its connection to close", async () => {
    const slow = createSlow();
    const { client, host } = await start({ bindings: [slow.binding] });
    const pending = client(version).ask({ method: "GET", path: "/" });
    await slow.called;
    const drained = host.drain(10_000);
    slow.release();
    const answer = await pending;
    expect(await textOf(answer)).toBe("done");
    if (version === 1) expect(answer.headers.connection).toBe("close");
    await drained;
  });

  it("ends a stream that outlives its grace with UNAVAILABLE, said on the wire", async () => {
    const { client, host } = await start({ bindings: [endless] });
    const answer = await client(version).ask({ method: "GET", path: "/" });
    const text = textOf(answer);
    const at = Date.now();
    await host.drain(100);
    expect(Date.now() - at).toBeGreaterThanOrEqual(95);
    expect(Date.now() - at).toBeLessThan(900);
    expect(await text).toBe("open;UNAVAILABLE");
  });

  it("closes a kept connection as soon as the stream on it has ended", async () => {
    const { client, host } = await start({ bindings: [endless] });
    const leaving = new AbortController();
    const answer = await client(version).ask({ method: "GET", path: "/", signal: leaving.signal });
    void bytesOf(answer).catch(() => undefined);
    const drained = host.drain(10_000);
    leaving.abort();
    await drained;
  });

  it("cuts what does not even end then", async () => {
    const { body } = createIdleBody();
    const { next } = body[Symbol.asyncIterator]();
    const stubborn: AsyncIterable<string> = { [Symbol.asyncIterator]: () => ({ next }) };
    const { client, host } = await start({ bindings: [always(() => ok(stubborn))] });
    const answer = await client(version).ask({ method: "GET", path: "/" });
    const broken = expect(bytesOf(answer)).rejects.toThrow();
    const at = Date.now();
    await host.drain(50);
    expect(Date.now() - at).toBeLessThan(2_000);
    await broken;
  });

  it("does not hang on a connection that sends half a request", async () => {
    const { raw, host } = await start({ bindings: [always(() => ok())] });
    const head = version === 1 ? "GET / HTTP/1.1\r\nhost" : "PRI * HTTP/2.0\r\n";
    const socket = await raw();
    socket.write(head);
    const silent = await raw();
    const texts = Promise.all([said(socket), said(silent)]);
    const at = Date.now();
    await host.drain(10_000);
    await texts;
    expect(Date.now() - at).toBeLessThan(1_000);
  });
});

describe("draining", () => {
  it("says GOAWAY over HTTP/2 and takes no further calls there, while the open one goes on", async () => {
    const { port, host } = await start({ bindings: [endless] });
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const stream = session.request({ ":path": "/" }).setEncoding("utf8");
    await once(stream, "data");
    const goaway = once(session, "goaway");
    const drained = host.drain(200);
    expect((await goaway)[0]).toBe(0);
    expect(stream.closed).toBe(false);
    expect(session.closed).toBe(true);
    await drained;
  });

  it("does not cut an answer that the client has not read yet", async () => {
    const big = Buffer.alloc(20_000_000, "x");
    const { client, host } = await start({ bindings: [always(() => ok(big))] });
    const answer = await client(1).ask({ method: "GET", path: "/" });
    const drained = host.drain(10_000);
    expect((await bytesOf(answer)).length).toBe(big.length);
    await drained;
  });

  it("closes at once when asked to, and twice without harm", async () => {
    const { body, idle, closed } = createIdleBody();
    const { client, host } = await start({ bindings: [always(() => ok(body))] });
    void client(1)
      .ask({ method: "GET", path: "/" })
      .then(bytesOf)
      .catch(() => undefined);
    await idle;
    await host.close();
    await closed;
    await host.close();
  });

  it("waits for the calls of a server of one's own", async () => {
    const slow = createSlow();
    const { createServer } = await import("node:http");
    const { host } = await start({ bindings: [slow.binding] });
    const own = createServer(host.serve).listen(0, "127.0.0.1");
    await once(own, "listening");
    const { port } = own.address() as { port: number };
    const pending = fetch(`http://127.0.0.1:${port}/`);
    await slow.called;
    let done = false;
    const drained = host.drain(10_000).then(() => {
      done = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    slow.release();
    expect(await (await pending).text()).toBe("done");
    await drained;
    own.close();
  });
});
