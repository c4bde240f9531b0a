import { type RequestHandler, Router } from "express";
import { A2AError } from "../errors.js";

/** What the operations pages need. */
export interface PagesOptions {
  /** False while the gateway starts or drains: `/readyz` then answers 503. */
  ready(): boolean;
}

/**
 * `/health` and `/healthz` (the process answers) and `/readyz` (it wants traffic), for GET and HEAD. They say
 * nothing about agents, and are the same for everybody.
 */
export function createPages({ ready }: PagesOptions): Router {
  const router = Router({ caseSensitive: true });
  const healthy = state(() => true, "healthy", "healthy");
  router.route("/health").get(healthy).all(getOnly);
  router.route("/healthz").get(healthy).all(getOnly);
  router
    .route("/readyz")
    .get(state(ready, "ready", "draining"))
    .all(getOnly);
  return router;
}

function state(good: () => boolean, yes: string, no: string): RequestHandler {
  return (_req, res) => {
    const ok = good();
    res
      .status(ok ? 200 : 503)
      .set("cache-control", "no-store")
      .json({ status: ok ? yes : no });
  };
}

/** Answers what is neither GET nor HEAD. */
export const getOnly: RequestHandler = (req, res, next) => {
  const allow = "GET, HEAD, OPTIONS";
  if (req.method === "OPTIONS") res.status(204).set({ allow }).end();
  else next(new A2AError("METHOD_NOT_ALLOWED", { headers: { allow } }));
};
