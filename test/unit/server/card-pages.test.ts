import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { afterEach, describe, expect, it } from "vitest";
import type { AgentEntry } from "../../../src/agents/agent.js";
import { createDirectory, createReplaceableDirectory } from "../../../src/agents/directory.js";
import { createEchoAgent } from "../../../src/agents/echo.js";
import { buildCards } from "../../../src/core/cards.js";
import { createCardPages } from "../../../src/server/card-pages.js";

function entry(tenant: string): AgentEntry {
  const agent = createEchoAgent();
  const addresses = { url: "http://127.0.0.1:8080" };
  return {
    tenant,
    agent,
    policy: { busy: "reject", followUps: "resume", concurrency: "many", idempotency: true },
    ...buildCards({ tenant, card: agent.card, addresses, streaming: true, pushNotifications: false }),
    extendedCardPublic: false,
  };
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(agents = createReplaceableDirectory(createDirectory([entry(""), entry("b")]))) {
  const clock = { now: 1_000_000 };
  const application = express().use(createCardPages({ agents, now: () => clock.now }));
  const server = createServer(application).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    return once(server.close(), "close");
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { agents, clock, get: (path: string, init?: RequestInit) => fetch(url + path, init) };
}

describe("card pages", () => {
  it("S0-03 serve the default agent's card, and 304 to who has it", async () => {
    const { get } = await serve();
    const first = await get("/.well-known/agent-card.json");
    expect(first.status).toBe(200);
    expect(first.headers.get("content-type")).toBe("application/json");
    expect(first.headers.get("cache-control")).toBe("public, max-age=60");
    expect(await first.json()).toMatchObject({ name: "Echo" });
    const headers = { "if-none-match": String(first.headers.get("etag")) };
    const again = await get("/.well-known/agent-card.json", { headers });
    expect(again.status).toBe(304);
    expect(again.headers.get("etag")).toBe(first.headers.get("etag"));
    expect(await again.text()).toBe("");
  });

  it("answer HEAD with the headers of GET and no body", async () => {
    const { get } = await serve();
    const head = await get("/.well-known/agent-card.json", { method: "HEAD" });
    const full = await get("/.well-known/agent-card.json");
    expect(head.headers.get("content-length")).toBe(full.headers.get("content-length"));
    expect(head.headers.get("etag")).toBe(full.headers.get("etag"));
    expect(await head.text()).toBe("");
  });

  it("serve each tenant's card and the catalogue of all", async () => {
    const { get } = await serve();
    const card = (await (await get("/b/.well-known/agent-card.json")).json()) as {
      supportedInterfaces: { tenant: string }[];
    };
    expect(card.supportedInterfaces[0]?.tenant).toBe("b");
    const { cards } = (await (await get("/.well-known/agent-cards.json")).json()) as { cards: unknown[] };
    expect(cards).toHaveLength(2);
  });

  it.each([
    "/c/.well-known/agent-card.json",
    "/.well-known/agent-card.json/",
    "/.Well-Known/agent-card.json",
  ])("leave %s to the next handler", async (path) => {
    expect((await (await serve()).get(path)).status).toBe(404);
  });

  it("show exchanged agents at once and keep the time of a card whose content stayed", async () => {
    const { agents, clock, get } = await serve();
    const before = await get("/.well-known/agent-card.json");
    expect((await get("/b/.well-known/agent-card.json")).status).toBe(200);
    clock.now += 60_000;
    agents.replace(createDirectory([entry("")]));
    const after = await get("/.well-known/agent-card.json");
    expect(after.headers.get("last-modified")).toBe(before.headers.get("last-modified"));
    expect((await get("/b/.well-known/agent-card.json")).status).toBe(404);
    const { cards } = (await (await get("/.well-known/agent-cards.json")).json()) as { cards: unknown[] };
    expect(cards).toHaveLength(1);
  });
});
