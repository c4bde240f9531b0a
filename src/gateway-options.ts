import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Logger } from "pino";
import type { Agent, AgentPolicy } from "./agents/agent.js";
import type { OfficialBinding, PublicAddresses } from "./core/cards.js";
import type { Authenticate, Middleware } from "./core/middleware.js";
import type { RetentionRule } from "./core/retention.js";
import type { AgentCard, AgentExtensionSchema } from "./protocol/schema.js";
import type { CorsOptions } from "./server/cors.js";
import type { HttpLimits } from "./server/http-limits.js";
import type { ServerTls } from "./server/tls.js";
import type { FullTaskStore } from "./stores/task-store.js";

/** A host and a port; port 0 is any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** An agent and how it is served. */
export interface GatewayAgent {
  /** First path segment of its addresses. Default `""`: the default agent. */
  readonly tenant?: string;
  readonly agent: Agent;
  /** What is unset has the default that AgentPolicy states. */
  readonly policy?: Partial<AgentPolicy>;
  /** When tasks at this tenant are forgotten: each takes the place of the general rules for the same states. */
  readonly retention?: readonly Omit<RetentionRule, "tenant">[];
  /** False: the agent's streams are switched off. Default true. */
  readonly streaming?: boolean;
  /** Card for authenticated callers. Unset: there is none. */
  readonly extendedCard?: AgentCard;
  /** True: announce an extended card although none is set. Default false. */
  readonly announceExtendedCard?: boolean;
  /** True: anyone gets the extended card. Test profiles only. Default false. */
  readonly extendedCardPublic?: boolean;
  /** Added to the extensions of the agent's card. */
  readonly extensions?: readonly MessageInitShape<typeof AgentExtensionSchema>[];
}

/** Bounds on what a call may cost; what is unset has the default that HttpLimits and the others state. */
export interface GatewayLimits extends Partial<HttpLimits> {
  /** Largest message on every wire, bytes. Default 10 MiB. */
  readonly messageBytes?: number;
  /** Largest metadata of a message or request, bytes of JSON. Default 64 KiB. */
  readonly metadataBytes?: number;
  /** Levels of objects and lists that a message may have as JSON, whichever wire carries it. Default 100, at most 300. */
  readonly depth?: number;
}

/** What a gateway is made from. Everything but the agents has a default. */
export interface GatewayOptions {
  readonly agents: readonly GatewayAgent[];
  /** Default `127.0.0.1:8080`. False: no port; mount `gateway.serve` in a server of your own. */
  readonly http?: ListenAddress | false;
  /** Default `127.0.0.1:50051`. False: no gRPC port. */
  readonly grpc?: ListenAddress | false;
  /** TLS on both ports. Unset: cleartext. */
  readonly tls?: ServerTls;
  /** Where clients reach the ports, as cards say it. Unset: the addresses that the ports listen on. */
  readonly publicUrl?: string;
  /** `host:port` of the gRPC port as clients reach it. */
  readonly publicGrpc?: string;
  /** Default: SQLite at `.switchyard/switchyard.db`. A store that is handed over is closed with the gateway. */
  readonly store?:
    | FullTaskStore
    | { readonly kind: "memory" }
    | { readonly kind: "sqlite"; readonly path: string; readonly durability?: "normal" | "full" };
  readonly limits?: GatewayLimits;
  /** `assume`: what a call without a version is taken for. Unset: 0.3, as the specification says, which is refused. */
  readonly versions?: { readonly assume?: "1.0" };
  readonly streams?: {
    /** Silence after which an event stream shows that it is alive, milliseconds. Default 15 000. */
    readonly heartbeatMs?: number;
    /** How long an agent may take to answer before it becomes a task, milliseconds. Default 1000. */
    readonly answerGraceMs?: number;
    /** How long a cancelled agent may take to stop, milliseconds. Default 3000. */
    readonly cancelGraceMs?: number;
  };
  readonly cards?: { readonly preference?: readonly OfficialBinding[]; readonly maxAgeSeconds?: number };
  /** Further path prefixes of a binding. */
  readonly mounts?: { readonly jsonrpc?: readonly string[]; readonly rest?: readonly string[] };
  readonly cors?: CorsOptions;
  readonly retention?: { readonly rules: readonly RetentionRule[]; readonly messageKeyMaxAgeMs?: number };
  /** Default `http`: `/metrics` on the HTTP port. An address: there only. False: none. */
  readonly metrics?: "http" | ListenAddress | false;
  /** How long open streams may go on when the gateway stops, milliseconds. Default 10 000. */
  readonly drainMs?: number;
  /** Default: no log. */
  readonly logger?: Logger;
  /** Checks of your own between the gateway's and the operation, outermost first. */
  readonly middleware?: readonly Middleware[];
  /** Who calls. Default: everyone is anonymous. */
  readonly authenticate?: Authenticate;
  /** Clock, milliseconds since the epoch. For tests. */
  readonly now?: () => number;
}

/** Where a gateway can be reached. */
export interface Addresses {
  readonly http?: ListenAddress & { readonly url: string };
  readonly grpc?: ListenAddress;
  readonly metrics?: ListenAddress;
  readonly public: PublicAddresses;
}

/** A gateway at a glance. */
export interface GatewayStatus {
  readonly state: "starting" | "serving" | "draining" | "stopped";
  readonly addresses: Addresses | undefined;
  /** Tenants that are served. */
  readonly tenants: readonly string[];
  readonly tasks: Readonly<Record<string, number>>;
  readonly runs: number;
  readonly openStreams: number;
}
