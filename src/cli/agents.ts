import { create, type JsonObject } from "@bufbuild/protobuf";
import type { Agent } from "../agents/agent.js";
import { createEchoAgent } from "../agents/echo.js";
import type { ModuleLoader } from "../agents/module.js";
import { cardProblems, overlayCard, readCard } from "../config/card.js";
import type { Problem } from "../config/problem.js";
import type { AgentConfig, Config } from "../config/schema.js";
import type { GatewayAgent } from "../gateway-options.js";
import { type AgentCard, AgentCardSchema, AgentExtensionSchema } from "../protocol/schema.js";
import { retentionRules } from "./retention.js";

/** The agents of a configuration, ready to be served; or what is wrong with them. */
export interface LoadedAgents {
  /** Empty when there are problems. */
  readonly agents: readonly GatewayAgent[];
  readonly problems: readonly Problem[];
  /** Files that were read; a change of one changes an agent. */
  readonly files: readonly string[];
}

/** Loads all agents with their cards, and finds every problem at once. */
export async function loadAgents(config: Config, loader: ModuleLoader): Promise<LoadedAgents> {
  const loaded = await Promise.all(config.agents.map((agent) => loadAgent(agent, loader)));
  const problems = loaded.flatMap(({ problems: found }, index) =>
    found.map(({ key, text }) => ({ path: ["agents", index, key], text })),
  );
  return {
    agents: problems.length > 0 ? [] : loaded.flatMap(({ served }) => served ?? []),
    problems,
    files: config.agents.flatMap(filesOf),
  };
}

interface AgentProblem {
  readonly key: string;
  readonly text: string;
}

interface LoadedAgent {
  readonly served?: GatewayAgent;
  readonly problems: readonly AgentProblem[];
}

async function loadAgent(config: AgentConfig, loader: ModuleLoader): Promise<LoadedAgent> {
  const agent = await createAgent(config, loader);
  if (typeof agent === "string") return { problems: [{ key: "file", text: agent }] };
  const { card, problems } = resolveCard(config.card, create(AgentCardSchema, agent.card));
  if (card === undefined || problems.length > 0) return keyed("card", problems);
  const extended = config.extendedCard && resolveCard(config.extendedCard.card, card);
  if (extended !== undefined && extended.problems.length > 0) return keyed("extendedCard", extended.problems);
  return { served: serve(config, withCard(agent, card), extended?.card), problems: [] };
}

async function createAgent({ file, kind }: AgentConfig, loader: ModuleLoader): Promise<Agent | string> {
  if (kind === "echo" || file === undefined) return createEchoAgent();
  const loaded = await loader.load(file);
  return loaded.kind === "loaded" ? loaded.agent : loaded.problem;
}

interface ResolvedCard {
  readonly card?: AgentCard;
  readonly problems: readonly string[];
}

/** The agent's card with the configured fields in place, checked against the contract. */
function resolveCard(source: unknown, own: AgentCard): ResolvedCard {
  if (source === undefined) return { card: own, problems: cardProblems(own) };
  const { card: over, problems } = readCard(source);
  if (over === undefined) return { problems };
  const card = overlayCard(own, over);
  return { card, problems: cardProblems(card) };
}

function keyed(key: string, texts: readonly string[]): LoadedAgent {
  return { problems: texts.map((text) => ({ key, text })) };
}

function serve(config: AgentConfig, agent: Agent, extendedCard: AgentCard | undefined): GatewayAgent {
  const { tenant, busy, followUps, concurrency, idempotency, streaming, retention } = config;
  return {
    tenant,
    agent,
    policy: { busy, followUps, concurrency, idempotency },
    streaming,
    ...(retention && { retention: retentionRules(retention) }),
    ...(extendedCard !== undefined && { extendedCard }),
    extendedCardPublic: config.extendedCard?.public ?? false,
    extensions: config.extensions.map(({ params, ...extension }) =>
      create(AgentExtensionSchema, {
        ...extension,
        ...(params !== undefined && { params: params as JsonObject }),
      }),
    ),
  };
}

/** The same agent with another card; a module may hand over an object of a class, so that a copy would lose its methods. */
function withCard(agent: Agent, card: AgentCard): Agent {
  const resume = agent.resume?.bind(agent);
  return {
    card,
    answer: (turn, signal) => agent.answer(turn, signal),
    ...(resume !== undefined && { resume }),
  };
}

function filesOf({ file, card, extendedCard }: AgentConfig): string[] {
  return [file, card, extendedCard?.card].filter((each) => typeof each === "string");
}
