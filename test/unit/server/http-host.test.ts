import { connect as connectHttp2 } from "node:http2";
import { Router } from "express";
import { afterEach, describe, expect, it } from "vitest";
import type { HttpBinding, HttpRequest } from "../../../src/bindings/http.js";
import type { RequestListener } from "../../../src/server/node-request.js";
import { createPages } from "../../../src/server/pages.js";
import { bytesOf, textOf } from "../../support/http-client.js";
import {
  always,
  createHostStarter,
  createIdleBody,
  echoBody,
  envelopeIn,
  ok,
  type StartedHost,
  said,
} from "../../support/http-start.js";

const { start, stopAll } = createHostStarter();
afterEach(stopAll);

describe.each([1, 2] as const)("HTTP/%s", (version) => {
  it("hands a binding the raw target, the headers and the body", async () => {
    const seen: HttpRequest[] = [];
    const { client } = await start({
      bindings: [
        (request) => {
          seen.push(request);
          return echoBody(request);
        },
      ],
    });
    const answer = await client(version).ask({
      method: "POST",
      path: "/a%2Fb/%2e%2e?x=1",
      headers: { "a2a-version": "1.0" },
      body: "hello",
    });
    expect(await textOf(answer)).toBe("hello");
    expect(answer.headers["content-length"]).toBe("5");
    expect(seen[0]).toMatchObject({ method: "POST", target: "/a%2Fb/%2e%2e?x=1", httpVersion: version });
    expect(seen[0]?.headers["a2a-version"]).toBe("1.0");
  });

  it("reads and writes a body of many pieces", async () => {
    const { client } = await start({ bindings: [echoBody] });
    const body = Buffer.alloc(3_000_000, "switchyard ");
    const answer = await client(version).ask({ method: "POST", path: "/", body });
    expect(Buffer.compare(await bytesOf(answer), body)).toBe(0);
  });

  it("asks the bindings in order and Express for the rest (S0-05)", async () => {
    const first: HttpBinding = ({ target }) => (target === "/one" ? Promise.resolve(ok("first")) : undefined);
    const second: HttpBinding = ({ target }) =>
      target !== "/health" ? Promise.resolve(ok("second")) : undefined;
    const { client } = await start({
      bindings: [first, second],
      routers: [createPages({ ready: () => true })],
    });
    const http = client(version);
    expect(await textOf(await http.ask({ method: "GET", path: "/one" }))).toBe("first");
    expect(await textOf(await http.ask({ method: "GET", path: "/two" }))).toBe("second");
    expect(await textOf(await http.ask({ method: "GET", path: "/health" }))).toBe('{"status":"healthy"}');
  });

  it("serves Express pages with HEAD, OPTIONS, 404, 405 and a failing route, all as our envelope", async () => {
    const boom = Router().get("/boom", () => {
      throw new Error("secret detail");
    });
    const { client, reports } = await start({ routers: [createPages({ ready: () => false }), boom] });
    const http = client(version);
    const head = await http.ask({ method: "HEAD", path: "/healthz" });
    expect([head.status, await textOf(head)]).toEqual([200, ""]);
    expect(head.headers["x-powered-by"]).toBeUndefined();
    const ready = await http.ask({ method: "GET", path: "/readyz" });
    expect([ready.status, await textOf(ready)]).toEqual([503, '{"status":"draining"}']);
    const missing = await http.ask({ method: "GET", path: "/nothing" });
    expect(missing.status).toBe(404);
    expect(missing.headers["content-type"]).toBe("application/json");
    expect(envelopeIn(await textOf(missing))).toMatchObject({ code: 404, status: "NOT_FOUND" });
    expect(await textOf(await http.ask({ method: "HEAD", path: "/nothing" }))).toBe("");
    const post = await http.ask({ method: "POST", path: "/health", body: "{}" });
    expect([post.status, post.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect((await http.ask({ method: "OPTIONS", path: "/health" })).status).toBe(204);
    const failed = await http.ask({ method: "GET", path: "/boom" });
    const text = await textOf(failed);
    expect(failed.status).toBe(500);
    expect(text).not.toContain("secret");
    expect(text).toContain(reports[0]?.errorId);
    expect((await http.ask({ method: "GET", path: "/%zz" })).status).toBe(404);
  });

  it("asks for its pages once, when the first request that no binding takes arrives", async () => {
    let asked = 0;
    const binding: HttpBinding = ({ target }) => (target === "/call" ? Promise.resolve(ok()) : undefined);
    const pages = async (): Promise<RequestListener> => {
      asked += 1;
      return (_req, res) => res.end("page");
    };
    const { client } = await start({ bindings: [binding], pages });
    const http = client(version);
    await http.ask({ method: "GET", path: "/call" });
    expect(asked).toBe(0);
    const answers = await Promise.all(["/a", "/b"].map((path) => http.ask({ method: "GET", path })));
    expect(await Promise.all(answers.map(textOf))).toEqual(["page", "page"]);
    expect(asked).toBe(1);
  });

  it("answers INTERNAL for pages that cannot be loaded, and goes on with calls", async () => {
    const binding: HttpBinding = ({ target }) =>
      target === "/call" ? Promise.resolve(ok("called")) : undefined;
    const pages = () => Promise.reject(new Error("no such module"));
    const { client, reports } = await start({ bindings: [binding], pages });
    const http = client(version);
    const answer = await http.ask({ method: "GET", path: "/health" });
    expect([answer.status, reports.length]).toEqual([500, 1]);
    expect(await textOf(answer)).toContain(reports[0]?.errorId);
    expect(await textOf(await http.ask({ method: "GET", path: "/call" }))).toBe("called");
  });

  it("answers INTERNAL with an error id when a binding fails, or states a header that cannot be sent", async () => {
    const answers = [
      () => Promise.reject(new Error("secret")),
      () => {
        throw new Error("secret");
      },
      () => Promise.resolve({ status: 200, headers: { "x-bad": "a\nb" }, body: "x" }),
    ];
    const { client, reports } = await start({
      bindings: [(request) => answers[Number(request.target[1])]?.()],
    });
    const http = client(version);
    for (const index of answers.keys()) {
      const answer = await http.ask({ method: "GET", path: `/${index}` });
      expect(answer.status).toBe(500);
      expect(await textOf(answer)).toContain(reports[index]?.errorId);
    }
    expect(reports).toHaveLength(3);
  });

  it("sends trailers after the body, also when there is none", async () => {
    async function* body() {
      yield "a";
      yield "b";
    }
    const trailers = () => ({ "grpc-status": "0", "grpc-message": "fine" });
    const { client } = await start({
      bindings: [
        always(({ target }) =>
          target === "/none" ? { ...ok(undefined), trailers } : { ...ok(body()), trailers },
        ),
      ],
    });
    const http = client(version);
    for (const [path, text] of [
      ["/some", "ab"],
      ["/none", ""],
    ] as const) {
      const answer = await http.ask({ method: "GET", path });
      expect(await textOf(answer)).toBe(text);
      expect(answer.trailers()).toMatchObject(trailers());
    }
  });

  it("answers HEAD, 204 and 304 without a body, and closes one that was made in vain", async () => {
    let returned = 0;
    const endless = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: false as const, value: "x" }),
        return: () => {
          returned++;
          return Promise.resolve({ done: true as const, value: undefined });
        },
      }),
    };
    const { client } = await start({
      bindings: [
        always(({ target }) => ({
          ...ok(target === "/s" ? endless : "text"),
          status: target === "/n" ? 204 : 200,
        })),
      ],
    });
    const http = client(version);
    const head = await http.ask({ method: "HEAD", path: "/" });
    expect([await textOf(head), head.headers["content-length"]]).toEqual(["", "4"]);
    expect(await textOf(await http.ask({ method: "HEAD", path: "/s" }))).toBe("");
    expect(returned).toBe(1);
    const none = await http.ask({ method: "GET", path: "/n" });
    expect([none.status, await textOf(none), none.headers["content-length"]]).toEqual([204, "", undefined]);
  });

  it("sends the head before the first piece, and each piece when it comes", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { client } = await start({
      bindings: [
        always(() =>
          ok(
            (async function* () {
              await gate;
              yield "late";
            })(),
          ),
        ),
      ],
    });
    const answer = await client(version).ask({ method: "GET", path: "/" });
    expect(answer.status).toBe(200);
    release();
    expect(await textOf(answer)).toBe("late");
  });

  it("pulls no more than the client takes, and takes a full buffer for no disconnect (what-breaks 59)", async () => {
    const piece = Buffer.alloc(64 * 1024);
    let pulled = 0;
    async function* body() {
      for (; pulled < 400; pulled++) yield piece;
    }
    const { client } = await start({ bindings: [always(() => ok(body()))] });
    const answer = await client(version).ask({ method: "GET", path: "/" });
    const pieces = answer.body[Symbol.asyncIterator]();
    await pieces.next();
    let before = -1;
    while (before !== pulled) {
      before = pulled;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(pulled).toBeLessThan(300);
    let bytes = 0;
    for (let step = await pieces.next(); !step.done; step = await pieces.next()) bytes += step.value.length;
    expect(pulled).toBe(400);
    expect(bytes).toBeGreaterThan(300 * piece.length);
  });

  it("closes the body and aborts the signal at once when the client leaves, though no event is due (what-breaks 61)", async () => {
    const { body, idle, closed } = createIdleBody();
    let signal: AbortSignal | undefined;
    const { client } = await start({
      bindings: [
        always((request) => {
          signal = request.caller.signal;
          return ok(body);
        }),
      ],
    });
    const leaving = new AbortController();
    const answer = await client(version).ask({ method: "GET", path: "/", signal: leaving.signal });
    void bytesOf(answer).catch(() => undefined);
    await idle;
    const at = Date.now();
    leaving.abort();
    expect((await closed) - at).toBeLessThan(100);
    expect(signal?.aborted).toBe(true);
  });

  it("does not abort the signal of a call that was answered", async () => {
    let signal: AbortSignal | undefined;
    const { client } = await start({
      bindings: [
        always((request) => {
          signal = request.caller.signal;
          return ok();
        }),
      ],
    });
    const http = client(version);
    await textOf(await http.ask({ method: "GET", path: "/" }));
    await http.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(signal?.aborted).toBe(false);
  });

  it("breaks the answer off when its body fails", async () => {
    async function* body() {
      yield "half";
      throw new Error("lost");
    }
    const { client, reports } = await start({ bindings: [always(() => ok(body()))] });
    const answer = await client(version).ask({ method: "GET", path: "/" });
    await expect(bytesOf(answer)).rejects.toThrow();
    expect(reports[0]?.cause).toMatchObject({ message: "lost" });
  });

  it("answers while the body still comes, and the next call on the connection is served", async () => {
    const { client } = await start({
      bindings: [
        always(async (request) => {
          for await (const _ of request.body()) return { ...ok("too large"), status: 413 };
          return ok();
        }),
      ],
    });
    const http = client(version);
    const answer = await http.ask({ method: "POST", path: "/", body: Buffer.alloc(5_000_000) });
    expect([answer.status, await textOf(answer)]).toEqual([413, "too large"]);
    expect((await http.ask({ method: "GET", path: "/" })).status).toBe(200);
  });

  it("gives a body that does not arrive in time 408", async () => {
    const limits = { requestTimeoutMs: 300, headersTimeoutMs: 200, checkIntervalMs: 50 };
    const host = await start({ bindings: [echoBody], limits });
    const at = Date.now();
    expect(await (version === 1 ? slowHttp1(host) : slowHttp2(host))).toBe(408);
    expect(Date.now() - at).toBeLessThan(2_000);
  });
});

async function slowHttp1({ raw }: StartedHost): Promise<number> {
  const socket = await raw();
  socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc");
  return envelopeIn(await said(socket)).code;
}

async function slowHttp2({ port }: StartedHost): Promise<number> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  try {
    const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
    stream.write("abc");
    return await new Promise((resolve, reject) => {
      stream.on("response", (headers) => resolve(Number(headers[":status"]))).on("error", reject);
    });
  } finally {
    session.destroy();
  }
}
