import { Router } from "express";
import type { Metrics } from "./metrics.js";

/** Where Prometheus scrapes. */
export const METRICS_PATH = "/metrics";

/** `/metrics` as an Express route. */
export function createMetricsPage(metrics: Metrics): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get(METRICS_PATH, async (_request, response) => {
    const text = await metrics.render();
    response.set({ "content-type": metrics.contentType, "cache-control": "no-store" }).end(text);
  });
  return router;
}
