import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Agent, AgentEntry, AgentPolicy } from "../agents/agent.js";
import type { AgentCard, AgentExtensionSchema } from "../protocol/schema.js";
import { buildCards, type OfficialBinding, type PublicAddresses } from "./cards.js";

/** An agent and how it is to be served. */
export interface ServedAgent {
  readonly agent: Agent;
  /** First path segment of its addresses. Default `""`: the default agent. */
  readonly tenant?: string;
  /** Default: see AgentPolicy. */
  readonly policy?: Partial<AgentPolicy>;
  /** Its public card. Default: the agent's own. */
  readonly card?: AgentCard;
  /** Its card for authenticated callers. Unset: there is none. */
  readonly extendedCard?: AgentCard;
  /** True: anyone gets the extended card. Test profiles only. Default false. */
  readonly extendedCardPublic?: boolean;
  /** Default true. */
  readonly streaming?: boolean;
  /** Added to those of the card; one with the same URI replaces it. */
  readonly extensions?: readonly MessageInitShape<typeof AgentExtensionSchema>[];
}

/** What the gateway as a whole adds to a card. */
export interface EntryOptions {
  readonly addresses: PublicAddresses;
  /** Official bindings in order of preference. Default JSONRPC, GRPC, HTTP+JSON. */
  readonly preference?: readonly OfficialBinding[];
  /** True only when the gateway delivers push notifications. Default false. */
  readonly pushNotifications?: boolean;
}

const DEFAULT_POLICY: AgentPolicy = {
  busy: "reject",
  followUps: "resume",
  concurrency: "many",
  idempotency: true,
};

/** An agent with its policy and the cards that are served for it. */
export function createEntry(served: ServedAgent, options: EntryOptions): AgentEntry {
  const { agent, tenant = "", policy, card = agent.card, extendedCard, extensions } = served;
  const { addresses, preference, pushNotifications = false } = options;
  const cards = buildCards({
    tenant,
    card,
    addresses,
    pushNotifications,
    streaming: served.streaming ?? true,
    ...(extendedCard !== undefined && { extendedCard }),
    ...(preference !== undefined && { preference }),
    ...(extensions !== undefined && { extensions }),
  });
  return {
    tenant,
    agent,
    policy: { ...DEFAULT_POLICY, ...policy },
    ...cards,
    extendedCardPublic: served.extendedCardPublic ?? false,
  };
}
