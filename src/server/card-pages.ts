import { type RequestHandler, Router } from "express";
import type { AgentDirectory, AgentEntry } from "../agents/agent.js";
import { type CardDocument, cardDocument, cardResponse, catalogueDocument } from "../core/cards.js";

/** Where cards are found; below a tenant's first path segment as well. */
export const CARD_PATH = "/.well-known/agent-card.json";
/** Where the public cards of all agents are found. */
export const CATALOGUE_PATH = "/.well-known/agent-cards.json";

/** What the card pages need. */
export interface CardPagesOptions {
  /** Looked at for each request, so that exchanged agents show at once. */
  readonly agents: AgentDirectory;
  /** How long clients may keep a card. Seconds. Default 60. */
  readonly maxAgeSeconds?: number;
  /** Clock, milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * The public cards as Express routes, for GET and HEAD: each agent's own at its tenant, and the catalogue.
 * An unknown tenant falls through to the next handler.
 */
export function createCardPages(options: CardPagesOptions): Router {
  const documents = createDocuments(options.agents, options.now ?? Date.now);
  const router = Router({ caseSensitive: true, strict: true });
  const page = (find: (tenant: string) => CardDocument | undefined): RequestHandler => {
    return (request, response, next) => {
      const document = find(String(request.params.tenant ?? ""));
      if (document === undefined) return next();
      const { status, headers, body } = cardResponse(request.headers, document, options.maxAgeSeconds);
      response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
    };
  };
  router.get(CARD_PATH, page(documents.card));
  router.get(CATALOGUE_PATH, page(documents.catalogue));
  router.get(`/:tenant${CARD_PATH}`, page(documents.card));
  return router;
}

interface Documents {
  card(tenant: string): CardDocument | undefined;
  catalogue(): CardDocument;
}

/** Documents are made once per set of agents; an unchanged content keeps its time when agents are exchanged. */
function createDocuments(agents: AgentDirectory, now: () => number): Documents {
  const cards = new Map<string, { readonly entry: AgentEntry; readonly document: CardDocument }>();
  let catalogue: { readonly entries: readonly AgentEntry[]; readonly document: CardDocument } | undefined;
  return {
    card(tenant) {
      const entry = agents.get(tenant);
      if (entry === undefined) {
        cards.delete(tenant);
        return undefined;
      }
      const known = cards.get(tenant);
      if (known?.entry === entry) return known.document;
      const document = cardDocument(entry.card, now(), known?.document);
      cards.set(tenant, { entry, document });
      return document;
    },
    catalogue() {
      const entries = agents.list();
      if (catalogue?.entries !== entries) {
        const served = entries.map((entry) => entry.card);
        catalogue = { entries, document: catalogueDocument(served, now(), catalogue?.document) };
      }
      return catalogue.document;
    },
  };
}
