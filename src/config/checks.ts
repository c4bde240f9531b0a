import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { mountProblem, tenantProblem } from "../core/tenants.js";
import type { Problem } from "./problem.js";
import type { AgentConfig, Config } from "./schema.js";
import { type Address, formatAddress } from "./values.js";

/** What is wrong with a configuration whose settings are each right. */
export function configProblems(config: Config): Problem[] {
  return [
    ...addressProblems(config),
    ...mountProblems(config),
    ...config.agents.flatMap((agent, index) => agentProblems(config, agent, index)),
    ...tlsProblems(config.tls),
  ];
}

function addressProblems({ http, grpc, metrics, publicGrpc }: Config): Problem[] {
  const named: (readonly [string, Address | string])[] = [
    ["http", http],
    ["grpc", grpc],
    ["metrics", metrics],
  ];
  const seen = new Map<string, string>();
  const problems: Problem[] = [];
  for (const [name, address] of named) {
    if (typeof address === "string" || address.port === 0) continue;
    const text = formatAddress(address);
    const other = seen.get(text);
    if (other !== undefined)
      problems.push({ path: [name], text: `${text} is already the address of ${other}.` });
    seen.set(text, name);
  }
  if (grpc === "off" && publicGrpc !== undefined) {
    problems.push({ path: ["publicGrpc"], text: "gRPC is off." });
  }
  return problems;
}

function mountProblems({ mounts }: Config): Problem[] {
  const seen = new Set<string>();
  return (["jsonrpc", "rest"] as const).flatMap((binding) =>
    mounts[binding].flatMap((mount, index) => {
      const text = seen.has(mount) ? "this path is mounted already." : mountProblem(mount);
      seen.add(mount);
      return text === undefined ? [] : [{ path: ["mounts", binding, index], text }];
    }),
  );
}

function agentProblems({ agents, mounts }: Config, agent: AgentConfig, index: number): Problem[] {
  const at = (key: string, text: string): Problem => ({ path: ["agents", index, key], text });
  const problems: Problem[] = [];
  const name = tenantProblem(agent.tenant, [...mounts.jsonrpc, ...mounts.rest]);
  if (name !== undefined) problems.push(at("tenant", name));
  if (agents.findIndex(({ tenant }) => tenant === agent.tenant) < index) {
    problems.push(at("tenant", `another agent is served at "${agent.tenant}".`));
  }
  if (agent.kind === "module" && agent.file === undefined) {
    problems.push(at("file", "is missing; an agent of kind module needs one."));
  }
  if (agent.kind === "echo" && agent.file !== undefined) {
    problems.push(at("file", "the echo agent has no file; leave out kind."));
  }
  return problems;
}

function problemOf(path: Problem["path"], what: string, check: () => unknown): Problem[] {
  try {
    check();
    return [];
  } catch (error) {
    return [{ path, text: `${what}: ${(error as Error).message}.` }];
  }
}

/** A secure context takes any text for authorities, and then trusts nobody. */
function checkAuthorities(pem: string | undefined): void {
  if (pem === undefined) return;
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs) ?? [];
  if (blocks.length === 0) throw new Error("there is no PEM certificate in it");
  for (const block of blocks) new X509Certificate(block);
}

function tlsProblems(tls: Config["tls"]): Problem[] {
  if (tls === undefined) return [];
  const { clientCa, ...own } = tls;
  return [
    ...problemOf(["tls"], "certificate and key cannot be used", () => createSecureContext(own)),
    ...problemOf(["tls", "clientCa"], "cannot be used", () => checkAuthorities(clientCa)),
  ];
}
