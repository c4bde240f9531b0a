import { createHash } from "node:crypto";
import { clone, create, type MessageInitShape } from "@bufbuild/protobuf";
import { writeJson } from "../protocol/json/index.js";
import {
  AgentCapabilitiesSchema,
  type AgentCard,
  AgentCardSchema,
  type AgentExtension,
  type AgentExtensionSchema,
  type AgentInterface,
  AgentInterfaceSchema,
} from "../protocol/schema.js";

/** `protocolBinding` of the three bindings that the specification names. */
export type OfficialBinding = "JSONRPC" | "GRPC" | "HTTP+JSON";

/** `protocolBinding` of Connect: a custom binding of ours (specification 12), described in docs/connect.md. */
export const CONNECT_BINDING = "urn:switchyard:binding:connect:v1";
/** `protocolBinding` of gRPC-Web: a custom binding of ours (specification 12), described in docs/connect.md. */
export const GRPC_WEB_BINDING = "urn:switchyard:binding:grpc-web:v1";

/** Order in which a card lists the official bindings when nothing else is configured. */
export const DEFAULT_PREFERENCE: readonly OfficialBinding[] = ["JSONRPC", "GRPC", "HTTP+JSON"];

const PROTOCOL_VERSION = "1.0";

/** Where clients reach the gateway, as cards say it. */
export interface PublicAddresses {
  /** Base URL of the HTTP port, for example `https://agents.example.com`. A slash at its end is dropped. */
  readonly url: string;
  /** `host:port` of the gRPC port; absent when gRPC has no port of its own, so that no card names it. */
  readonly grpc?: string;
}

/** What a card is made from. */
export interface CardOptions {
  readonly tenant: string;
  /** The agent's own card. Its interfaces, capabilities and signatures are replaced. */
  readonly card: AgentCard;
  /** Richer card for authenticated callers, treated the same way. Absent: the capability is not announced. */
  readonly extendedCard?: AgentCard;
  readonly addresses: PublicAddresses;
  /** Official bindings in order of preference; those left out follow in the default order. */
  readonly preference?: readonly OfficialBinding[];
  /** False: the agent's streams are switched off. A card that says false itself stays false. */
  readonly streaming: boolean;
  /** True: announce an extended card although there is none; asking for it is then ExtendedAgentCardNotConfigured. */
  readonly announceExtendedCard?: boolean;
  /** True only when the gateway delivers push notifications. */
  readonly pushNotifications: boolean;
  /** Added to the extensions of the agent's card; one with the same URI replaces it. */
  readonly extensions?: readonly MessageInitShape<typeof AgentExtensionSchema>[];
}

/** The cards of one agent as they are served. */
export interface ServedCards {
  readonly card: AgentCard;
  readonly extendedCard?: AgentCard;
}

/**
 * The cards to serve for an agent: what the agent says about itself, and of interfaces and capabilities
 * exactly what this gateway really offers.
 */
export function buildCards(options: CardOptions): ServedCards {
  const card = serveCard(options.card, options);
  if (options.extendedCard === undefined) return { card };
  return { card, extendedCard: serveCard(options.extendedCard, options) };
}

function serveCard(own: AgentCard, options: CardOptions): AgentCard {
  const card = clone(AgentCardSchema, own);
  card.supportedInterfaces = interfacesOf(options);
  card.capabilities = create(AgentCapabilitiesSchema, {
    streaming: options.streaming && own.capabilities?.streaming !== false,
    pushNotifications: options.pushNotifications,
    extendedAgentCard: options.extendedCard !== undefined || options.announceExtendedCard === true,
    extensions: mergeExtensions(card.capabilities?.extensions ?? [], options.extensions ?? []),
  });
  // A signature of the agent's author covers other interfaces than those served here.
  card.signatures = [];
  return card;
}

function mergeExtensions(
  own: readonly AgentExtension[],
  configured: readonly MessageInitShape<typeof AgentExtensionSchema>[],
): MessageInitShape<typeof AgentExtensionSchema>[] {
  const replaced = new Set(configured.map(({ uri }) => uri));
  return [...own.filter(({ uri }) => !replaced.has(uri)), ...configured];
}

/**
 * Each binding once: some clients keep the last of two equal entries. No URL ends in a slash, since some
 * clients append one; the tenant is never in the URL, since REST clients put it into the path themselves.
 */
function interfacesOf({ tenant, addresses, preference = [] }: CardOptions): AgentInterface[] {
  const url = addresses.url.replace(/\/+$/, "");
  const urls = new Map<string, string | undefined>([
    ["JSONRPC", url],
    ["GRPC", addresses.grpc],
    ["HTTP+JSON", url],
    [CONNECT_BINDING, url],
    [GRPC_WEB_BINDING, url],
  ]);
  const order = new Set<string>([...preference, ...DEFAULT_PREFERENCE, CONNECT_BINDING, GRPC_WEB_BINDING]);
  return [...order].flatMap((protocolBinding) => {
    const address = urls.get(protocolBinding);
    if (address === undefined) return [];
    const init = { url: address, protocolBinding, protocolVersion: PROTOCOL_VERSION, tenant };
    return [create(AgentInterfaceSchema, init)];
  });
}

/** A document as it is sent, with what caches need. */
export interface CardDocument {
  readonly json: string;
  /** Strong entity tag made from the content, with its quotes. */
  readonly etag: string;
  /** When the content last changed, milliseconds since the epoch, in whole seconds as HTTP dates are. */
  readonly modifiedMs: number;
}

/** One card as a document. With the document that was served before, an unchanged content keeps its time. */
export function cardDocument(card: AgentCard, nowMs: number, before?: CardDocument): CardDocument {
  return jsonDocument(writeJson(AgentCardSchema, card), nowMs, before);
}

/** The public cards of several agents as one document: `{"cards": [AgentCard, …]}`. */
export function catalogueDocument(
  cards: readonly AgentCard[],
  nowMs: number,
  before?: CardDocument,
): CardDocument {
  const written = cards.map((card) => writeJson(AgentCardSchema, card));
  return jsonDocument(`{"cards":[${written.join(",")}]}`, nowMs, before);
}

function jsonDocument(json: string, nowMs: number, before: CardDocument | undefined): CardDocument {
  if (before?.json === json) return before;
  const etag = `"${createHash("sha256").update(json).digest("base64url")}"`;
  return { json, etag, modifiedMs: Math.floor(nowMs / 1000) * 1000 };
}

/** Answer to a request for a document. */
export interface CardResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent for 304. A HEAD request gets the headers only. */
  readonly body?: string;
}

/** The headers that make a request conditional. */
export interface CardRequest {
  readonly "if-none-match"?: string | undefined;
  readonly "if-modified-since"?: string | undefined;
}

/** Answers with the document, or with 304 when the caller has it already (RFC 9110, 13.1 and 13.2). */
export function cardResponse(request: CardRequest, document: CardDocument, maxAgeSeconds = 60): CardResponse {
  const validators = {
    "cache-control": `public, max-age=${maxAgeSeconds}`,
    etag: document.etag,
    "last-modified": new Date(document.modifiedMs).toUTCString(),
  };
  if (isUnchanged(request, document)) return { status: 304, headers: validators };
  return {
    status: 200,
    headers: {
      ...validators,
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(document.json)),
    },
    body: document.json,
  };
}

/** If-None-Match alone decides when it is there (RFC 9110, 13.1.3). */
function isUnchanged(request: CardRequest, document: CardDocument): boolean {
  const tags = request["if-none-match"];
  if (tags !== undefined) return matchesTag(tags, document.etag);
  const since = parseHttpDate(request["if-modified-since"]);
  return since !== undefined && document.modifiedMs <= since;
}

/** Weak comparison, as RFC 9110, 13.1.2 asks for. */
function matchesTag(header: string, etag: string): boolean {
  if (header.trim() === "*") return true;
  const tags: readonly string[] = header.match(/"[^"]*"/g) ?? [];
  return tags.includes(etag);
}

/** An HTTP date; anything else is ignored, as RFC 9110, 13.1.3 asks. */
function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^[A-Z][a-z]+,? /.test(text.trim())) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
