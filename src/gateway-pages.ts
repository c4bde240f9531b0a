/** What a gateway shows beside calls, on Express: the part of the composition root that is loaded late. */
import type { AgentDirectory } from "./agents/agent.js";
import { createOpenApiDocument } from "./bindings/rest/openapi/document.js";
import type { A2AError } from "./errors.js";
import type { GatewayOptions } from "./gateway-options.js";
import { createCardPages } from "./server/card-pages.js";
import { createDocsPages } from "./server/docs-pages.js";
import { createExpressHost } from "./server/express-host.js";
import type { Metrics } from "./server/metrics.js";
import { createMetricsPage } from "./server/metrics-page.js";
import type { RequestListener } from "./server/node-request.js";
import { createPages } from "./server/pages.js";

/** What the pages of the HTTP port need. */
export interface GatewayPagesOptions {
  readonly gateway: GatewayOptions;
  readonly agents: AgentDirectory;
  /** Unset: `/metrics` is not there. */
  readonly metrics: Metrics | undefined;
  ready(): boolean;
  /** Base URLs for the OpenAPI document. */
  servers(): readonly string[];
  /** Told of faults that are ours. */
  report(error: A2AError): void;
}

/** The pages of the HTTP port: health, cards, documents, metrics. */
export function createGatewayPages(options: GatewayPagesOptions): RequestListener {
  const { gateway, agents, metrics, ready, servers, report } = options;
  const { maxAgeSeconds } = gateway.cards ?? {};
  const routers = [
    createPages({ ready }),
    createCardPages({
      agents,
      ...(gateway.now && { now: gateway.now }),
      ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    }),
    createDocsPages(() => openApiOf(gateway, servers())),
    ...(metrics ? [createMetricsPage(metrics)] : []),
  ];
  return createExpressHost({ routers, report });
}

/** The one page of a metrics port. */
export function createMetricsPages(metrics: Metrics, report: (error: A2AError) => void): RequestListener {
  return createExpressHost({ routers: [createMetricsPage(metrics)], report });
}

function openApiOf({ versions }: GatewayOptions, servers: readonly string[]) {
  return createOpenApiDocument({
    title: "A2A over REST",
    version: "1.0",
    description: "The agents of this gateway, as the HTTP+JSON binding of the Agent2Agent protocol.",
    servers,
    versionRequired: versions?.assume === undefined,
  });
}
