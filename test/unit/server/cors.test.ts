import { Router } from "express";
import { afterEach, describe, expect, it } from "vitest";
import type { HttpBinding } from "../../../src/bindings/http.js";
import { createPages } from "../../../src/server/pages.js";
import { always, createHostStarter, ok } from "../../support/http-start.js";

const { start, stopAll } = createHostStarter();
afterEach(stopAll);

const ORIGIN = "https://app.example";
const preflight = (headers: Record<string, string> = {}) => ({
  origin: ORIGIN,
  "access-control-request-method": "POST",
  "access-control-request-headers": "content-type,a2a-version,authorization",
  ...headers,
});
/** Answers OPTIONS of a shape that it knows, as REST does. */
const restLike: HttpBinding = ({ method, target }) => {
  if (!target.startsWith("/tasks/")) return undefined;
  if (method !== "OPTIONS") return Promise.resolve(ok("task"));
  return Promise.resolve({ status: 204, headers: { allow: "GET, HEAD, OPTIONS" } });
};
const pages = () => [createPages({ ready: () => true })];

describe("requests from pages of other origins", () => {
  it("are told by a preflight what they may send, at any address (H14)", async () => {
    const { client } = await start({ bindings: [restLike], routers: pages(), cors: { origins: [ORIGIN] } });
    for (const path of ["/message:send", "/lf.a2a.v1.A2AService/SendMessage", "/health", "/nothing"]) {
      const answer = await client(1).ask({ method: "OPTIONS", path, headers: preflight() });
      expect(answer.status).toBe(204);
      expect(answer.headers["access-control-allow-origin"]).toBe(ORIGIN);
      expect(answer.headers["access-control-allow-methods"]).toContain("POST");
      const allowed = answer.headers["access-control-allow-headers"]?.split(", ");
      expect(allowed).toEqual(
        expect.arrayContaining([
          "content-type",
          "a2a-version",
          "a2a-extensions",
          "authorization",
          "grpc-timeout",
        ]),
      );
      const exposed = answer.headers["access-control-expose-headers"]?.split(", ");
      expect(exposed).toEqual(
        expect.arrayContaining(["a2a-extensions", "grpc-status", "grpc-status-details-bin"]),
      );
      expect(answer.headers.vary).toBe("origin");
    }
  });

  it("get the address's own Allow with it (P69)", async () => {
    const { client } = await start({ bindings: [restLike], cors: { origins: "*" } });
    const answer = await client(2).ask({ method: "OPTIONS", path: "/tasks/t1", headers: preflight() });
    expect(answer.headers).toMatchObject({
      allow: "GET, HEAD, OPTIONS",
      "access-control-allow-origin": "*",
    });
    const plain = await client(2).ask({ method: "OPTIONS", path: "/tasks/t1" });
    expect([plain.status, plain.headers.allow]).toEqual([204, "GET, HEAD, OPTIONS"]);
    expect(plain.headers["access-control-allow-methods"]).toBeUndefined();
  });

  it("may send a header that only this deployment knows, but no rubbish", async () => {
    const { client } = await start({ cors: { origins: ["*"] } });
    const headers = preflight({ "access-control-request-headers": "X-Api-Key, a b, \u00e9" });
    const answer = await client(1).ask({ method: "OPTIONS", path: "/", headers });
    expect(answer.headers["access-control-allow-headers"]).toMatch(/, x-api-key$/);
  });

  it("of an origin that is not listed get no permission", async () => {
    const { client } = await start({
      bindings: [restLike],
      routers: pages(),
      cors: { origins: ["https://other.example"] },
    });
    const http = client(1);
    const asked = await http.ask({ method: "OPTIONS", path: "/tasks/t1", headers: preflight() });
    const got = await http.ask({ method: "GET", path: "/health", headers: { origin: ORIGIN } });
    for (const { headers } of [asked, got]) {
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      expect(headers.vary).toBe("origin");
    }
  });

  it("may read the answers of bindings and pages, over both versions", async () => {
    const vary = Router().get("/varied", (_req, res) => res.set("vary", "accept").json({}));
    const accept: HttpBinding = ({ target }) =>
      target === "/b" ? Promise.resolve({ ...ok(), headers: { vary: "accept" } }) : undefined;
    const { client } = await start({
      bindings: [restLike, accept],
      routers: [...pages(), vary],
      cors: { origins: [ORIGIN] },
    });
    for (const version of [1, 2] as const) {
      const http = client(version);
      for (const path of ["/tasks/t1", "/health", "/nothing", "/b"]) {
        const { headers } = await http.ask({ method: "GET", path, headers: { origin: ORIGIN } });
        expect(headers["access-control-allow-origin"]).toBe(ORIGIN);
        expect(headers["access-control-expose-headers"]).toContain("grpc-status");
        expect(headers.vary).toContain("origin");
      }
      const both = await http.ask({ method: "GET", path: "/b", headers: { origin: ORIGIN } });
      expect(both.headers.vary).toBe("accept, origin");
    }
  });

  it("learn nothing where no origin is configured", async () => {
    const { client } = await start({ bindings: [restLike], routers: pages(), cors: { origins: [] } });
    const http = client(1);
    const answer = await http.ask({ method: "GET", path: "/health", headers: { origin: ORIGIN } });
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    const asked = await http.ask({ method: "OPTIONS", path: "/tasks/t1", headers: preflight() });
    expect(asked.headers.allow).toBe("GET, HEAD, OPTIONS");
  });
});

describe("mounts", () => {
  it("take their prefix off, and are looked at first", async () => {
    const show = always(({ target }) => ok(`mounted ${target}`));
    const { client } = await start({
      bindings: [always(({ target }) => ok(`plain ${target}`))],
      mounts: [{ prefix: "/rest", binding: show }],
    });
    const http = client(1);
    const seen = async (path: string) => {
      const { body } = await http.ask({ method: "GET", path });
      return Buffer.concat(
        await body[Symbol.asyncIterator]()
          .next()
          .then((step) => [step.value]),
      ).toString();
    };
    expect(await seen("/rest")).toBe("mounted /");
    expect(await seen("/rest/")).toBe("mounted /");
    expect(await seen("/rest?a=b")).toBe("mounted /?a=b");
    expect(await seen("/rest/tasks/a%2Fb?x")).toBe("mounted /tasks/a%2Fb?x");
    expect(await seen("/restless")).toBe("plain /restless");
  });

  it("keep what their binding does not take from the others", async () => {
    const { client } = await start({
      bindings: [always(() => ok())],
      mounts: [{ prefix: "/rpc", binding: () => undefined }],
    });
    expect((await client(1).ask({ method: "GET", path: "/rpc/x" })).status).toBe(404);
  });
});
