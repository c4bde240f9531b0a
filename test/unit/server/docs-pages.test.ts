import { afterEach, describe, expect, it } from "vitest";
import { createDocsPages } from "../../../src/server/docs-pages.js";
import { type HttpAsk, textOf } from "../../support/http-client.js";
import { createHostStarter } from "../../support/http-start.js";

const { start, stopAll } = createHostStarter();
afterEach(stopAll);

async function open(version: 1 | 2) {
  let made = 0;
  const document = () => {
    made += 1;
    return { openapi: "3.1.0", info: { title: "t" } };
  };
  const { client } = await start({ routers: [createDocsPages(document)] });
  const http = client(version);
  const ask = async (path: string, headers: HttpAsk["headers"] = {}, method = "GET") => {
    const answer = await http.ask({ method, path, headers });
    return { status: answer.status, headers: answer.headers, text: await textOf(answer) };
  };
  return { ask, made: () => made };
}

describe.each([1, 2] as const)("documents, HTTP/%i", (version) => {
  it.each([
    ["/openapi.json", /^application\/json/, '{"openapi":"3.1.0","info":{"title":"t"}}'],
    ["/docs", /^text\/html/, '<div id="page">'],
    ["/docs/start.js", /^text\/javascript/, 'url: "/openapi.json"'],
    ["/docs/swagger-ui.css", /^text\/css/, ".swagger-ui"],
    ["/docs/swagger-ui-bundle.js", /^text\/javascript/, "SwaggerUIBundle"],
    ["/docs/favicon-32x32.png", /^image\/png/, "PNG"],
  ])("%s: GET, HEAD and an ETag", async (path, type, content) => {
    const { ask } = await open(version);
    const { status, headers, text } = await ask(path);
    expect(status).toBe(200);
    expect(headers["content-type"]).toMatch(type);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'self';/);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["cache-control"]).toMatch(/^public, max-age=(60|3600)$/);
    expect(text).toContain(content);
    const head = await ask(path, {}, "HEAD");
    expect([head.status, head.text]).toEqual([200, ""]);
    for (const name of ["etag", "content-length", "content-type"])
      expect(head.headers[name]).toBe(headers[name]);
    const again = await ask(path, { "if-none-match": String(headers.etag) });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, "", headers.etag]);
    expect((await ask(path, { "if-none-match": '"other"' })).status).toBe(200);
  });

  it("has nothing else of that folder, or of any other", async () => {
    const { ask } = await open(version);
    for (const file of [
      "package.json",
      "index.html",
      "swagger-ui.js",
      "..%2fpackage.json",
      "%2e%2e%2fpackage.json",
      "..",
    ]) {
      const { status, headers } = await ask(`/docs/${file}`);
      expect([file, status, headers["content-type"]]).toEqual([file, 404, "application/json"]);
    }
    const { status, headers } = await ask("/docs", {}, "POST");
    expect([status, headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });

  it("makes the document once", async () => {
    const { ask, made } = await open(version);
    await ask("/openapi.json");
    await ask("/openapi.json");
    expect(made()).toBe(1);
  });
});
