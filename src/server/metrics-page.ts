import { type RequestHandler, Router } from "express";
import type { Metrics } from "./metrics.js";
import { getOnly } from "./pages.js";

/** Where Prometheus scrapes. */
export const METRICS_PATH = "/metrics";

/** `/metrics` as an Express route. */
export function createMetricsPage(metrics: Metrics): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const page: RequestHandler = async (request, response) => {
    const text = await metrics.render();
    response
      .set({ "content-type": metrics.contentType, "cache-control": "no-store" })
      .set("content-length", String(Buffer.byteLength(text)))
      .end(request.method === "HEAD" ? undefined : text);
  };
  router.route(METRICS_PATH).get(page).all(getOnly);
  return router;
}
