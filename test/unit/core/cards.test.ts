import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  buildCards,
  type CardOptions,
  CONNECT_BINDING,
  cardDocument,
  cardResponse,
  catalogueDocument,
  GRPC_WEB_BINDING,
} from "../../../src/core/cards.js";
import { AgentCapabilitiesSchema, AgentCardSchema } from "../../../src/protocol/schema.js";

const OWN = create(AgentCardSchema, {
  name: "Clock",
  description: "Tells the time.",
  version: "2.1.0",
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "time", name: "Time", description: "Tells it.", tags: ["time"] }],
  supportedInterfaces: [{ url: "http://elsewhere/", protocolBinding: "JSONRPC", protocolVersion: "0.3" }],
  capabilities: { pushNotifications: true, extendedAgentCard: true, extensions: [{ uri: "urn:a" }] },
  signatures: [{ protected: "e30", signature: "AA" }],
});

function options(over: Partial<CardOptions> = {}): CardOptions {
  return {
    tenant: "",
    card: OWN,
    addresses: { url: "https://agents.example.com/", grpc: "agents.example.com:443" },
    streaming: true,
    pushNotifications: false,
    ...over,
  };
}

describe("S0-02 the interfaces of a card", () => {
  it("lists the official bindings first, then Connect and gRPC-Web, each once", () => {
    const { card } = buildCards(options());
    expect(card.supportedInterfaces.map((each) => [each.protocolBinding, each.url])).toEqual([
      ["JSONRPC", "https://agents.example.com"],
      ["GRPC", "agents.example.com:443"],
      ["HTTP+JSON", "https://agents.example.com"],
      [CONNECT_BINDING, "https://agents.example.com"],
      [GRPC_WEB_BINDING, "https://agents.example.com"],
    ]);
    expect(new Set(card.supportedInterfaces.map((each) => each.protocolVersion))).toEqual(new Set(["1.0"]));
  });

  it("follows the configured preference and adds what it leaves out", () => {
    const { card } = buildCards(options({ preference: ["HTTP+JSON", "GRPC"] }));
    const official = card.supportedInterfaces.slice(0, 3).map((each) => each.protocolBinding);
    expect(official).toEqual(["HTTP+JSON", "GRPC", "JSONRPC"]);
  });

  it("S1-06 carries the tenant in `tenant` and never in a url", () => {
    const { card } = buildCards(options({ tenant: "clock" }));
    expect(card.supportedInterfaces.every((each) => each.tenant === "clock")).toBe(true);
    expect(card.supportedInterfaces.some((each) => each.url.includes("clock"))).toBe(false);
  });

  it("names no gRPC interface when gRPC has no port", () => {
    const { card } = buildCards(options({ addresses: { url: "http://127.0.0.1:8080" } }));
    expect(card.supportedInterfaces.map((each) => each.protocolBinding)).not.toContain("GRPC");
  });
});

describe("S2-09 the capabilities of a card", () => {
  it("announces what the gateway offers, whatever the agent claims", () => {
    const { card, extendedCard } = buildCards(options());
    expect(card.capabilities).toMatchObject({
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: false,
    });
    expect(extendedCard).toBeUndefined();
  });

  it("keeps streaming off when either side has it off", () => {
    const capabilities = create(AgentCapabilitiesSchema, { streaming: false });
    const silent = create(AgentCardSchema, { ...OWN, capabilities });
    expect(buildCards(options({ card: silent })).card.capabilities?.streaming).toBe(false);
    expect(buildCards(options({ streaming: false })).card.capabilities?.streaming).toBe(false);
  });

  it("S0-16 announces the extended card when there is one, and serves both with the same interfaces", () => {
    const extended = create(AgentCardSchema, { ...OWN, description: "Tells the time and the date." });
    const { card, extendedCard } = buildCards(options({ extendedCard: extended }));
    expect(card.capabilities?.extendedAgentCard).toBe(true);
    expect(extendedCard?.description).toBe("Tells the time and the date.");
    expect(extendedCard?.supportedInterfaces).toEqual(card.supportedInterfaces);
  });

  it("S0-22 joins the extensions of the agent and of the configuration by URI", () => {
    const { card } = buildCards(
      options({
        extensions: [
          { uri: "urn:b", required: true },
          { uri: "urn:a", required: true },
        ],
      }),
    );
    const extensions = card.capabilities?.extensions.map((each) => [each.uri, each.required]);
    expect(extensions).toEqual([
      ["urn:b", true],
      ["urn:a", true],
    ]);
  });

  it("drops signatures, which cover other content, and leaves the agent's own card alone", () => {
    expect(buildCards(options()).card.signatures).toEqual([]);
    expect(OWN.signatures).toHaveLength(1);
    expect(OWN.supportedInterfaces).toHaveLength(1);
  });
});

describe("S0-03 a card in caches", () => {
  const { card } = buildCards(options());
  const modified = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const document = cardDocument(card, modified);
  const status = (request: Parameters<typeof cardResponse>[0]) => cardResponse(request, document).status;

  it("is sent whole with validators", () => {
    const response = cardResponse({}, document);
    expect(response.status).toBe(200);
    expect(response.body).toBe(document.json);
    expect(response.headers).toEqual({
      "cache-control": "public, max-age=60",
      etag: document.etag,
      "last-modified": "Fri, 02 Jan 2026 03:04:05 GMT",
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(document.json)),
    });
    expect(document.etag).toMatch(/^"[\w-]{43}"$/);
  });

  it("answers 304 without a body, with the validators", () => {
    const response = cardResponse({ "if-none-match": document.etag }, document, 5);
    expect(response.body).toBeUndefined();
    expect(response.headers).toEqual({
      "cache-control": "public, max-age=5",
      etag: document.etag,
      "last-modified": "Fri, 02 Jan 2026 03:04:05 GMT",
    });
  });

  it.each([
    ["the tag", document.etag, 304],
    ["a weak tag", `W/${document.etag}`, 304],
    ["a list", `"a", W/"b,c" , ${document.etag}`, 304],
    ["any", " * ", 304],
    ["another tag", '"a"', 200],
    ["a star in a tag", '"*"', 200],
    ["a tag without quotes", document.etag.slice(1, -1), 200],
    ["nothing", "", 200],
  ])("If-None-Match with %s", (_name, value, expected) => {
    expect(status({ "if-none-match": value })).toBe(expected);
  });

  it.each([
    ["the same second", "Fri, 02 Jan 2026 03:04:05 GMT", 304],
    ["a later time", "Sat, 03 Jan 2026 00:00:00 GMT", 304],
    ["an earlier time", "Fri, 02 Jan 2026 03:04:04 GMT", 200],
    ["the obsolete form", "Friday, 02-Jan-26 03:04:05 GMT", 304],
    ["no date", "yesterday", 200],
    ["a number", "99999", 200],
  ])("If-Modified-Since with %s", (_name, value, expected) => {
    expect(status({ "if-modified-since": value })).toBe(expected);
  });

  it("lets If-None-Match alone decide", () => {
    expect(status({ "if-none-match": '"a"', "if-modified-since": "Sat, 03 Jan 2026 00:00:00 GMT" })).toBe(
      200,
    );
  });

  it("keeps the time while the content stays, and changes tag and time with it", () => {
    expect(cardDocument(card, modified + 60_000, document)).toBe(document);
    const changed = cardDocument(
      create(AgentCardSchema, { ...card, version: "2.2.0" }),
      modified + 60_000,
      document,
    );
    expect(changed.modifiedMs).toBe(Date.UTC(2026, 0, 2, 3, 5, 5));
    expect(changed.etag).not.toBe(document.etag);
  });

  it("writes a catalogue of several cards", () => {
    const other = buildCards(options({ tenant: "b" })).card;
    const cards = JSON.parse(catalogueDocument([card, other], 0).json) as {
      cards: { supportedInterfaces: { tenant?: string }[] }[];
    };
    expect(cards.cards.map((each) => each.supportedInterfaces[0]?.tenant)).toEqual([undefined, "b"]);
  });
});
