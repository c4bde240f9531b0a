import type { AgentDirectory, AgentEntry } from "./agent.js";

/** The agents of a gateway by tenant. Throws an Error when two entries share one; the order of `list` is that of the entries. */
export function createDirectory(entries: readonly AgentEntry[]): AgentDirectory {
  const byTenant = new Map<string, AgentEntry>();
  for (const entry of entries) {
    if (byTenant.has(entry.tenant))
      throw new Error(`Two agents are configured for tenant "${entry.tenant}".`);
    byTenant.set(entry.tenant, entry);
  }
  const list = Object.freeze([...entries]);
  return { get: (tenant) => byTenant.get(tenant), list: () => list };
}

/** A directory that can be exchanged while it is in use: every reader sees the new agents at its next look. */
export interface ReplaceableDirectory extends AgentDirectory {
  replace(next: AgentDirectory): void;
}

/** Starts with the agents of `first`. */
export function createReplaceableDirectory(first: AgentDirectory): ReplaceableDirectory {
  let current = first;
  return {
    get: (tenant) => current.get(tenant),
    list: () => current.list(),
    replace: (next) => {
      current = next;
    },
  };
}
