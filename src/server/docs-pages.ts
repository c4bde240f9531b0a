import { createRequire } from "node:module";
import { dirname } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { Router } from "express";
import { DOCS_PATH, OPENAPI_PATH } from "./docs-paths.js";
import { getOnly } from "./pages.js";

/** Files of swagger-ui-dist that the page loads. */
const ASSETS: ReadonlySet<string> = new Set(["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"]);

/** The page may load what this port serves, and nothing else; swagger-ui sets styles and icons inline. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

const HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
};

/** They change with the program only. */
const ASSETS_MAX_AGE_MS = 3_600_000;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Switchyard</title>
<link rel="icon" href="${DOCS_PATH}/favicon-32x32.png">
<link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="${DOCS_PATH}/swagger-ui-bundle.js"></script>
<script src="${DOCS_PATH}/start.js"></script>
</body>
</html>
`;

/** Without a validator's badge: it would ask another host. */
const START = `SwaggerUIBundle({ url: ${JSON.stringify(OPENAPI_PATH)}, dom_id: "#page", validatorUrl: null, deepLinking: true });
`;

/**
 * The OpenAPI document and a page to read it, as Express routes for GET and HEAD, each with an ETag. The page loads
 * files of this port only.
 * @param document asked for at the first request, and then kept.
 */
export function createDocsPages(document: () => JsonObject): Router {
  const router = Router({ caseSensitive: true });
  let json: string | undefined;
  const page = (path: string, type: string, text: () => string) =>
    router
      .route(path)
      .get((_request, response) => {
        response.set({ ...HEADERS, "cache-control": "public, max-age=60", "content-type": type });
        response.send(text());
      })
      .all(getOnly);
  page(OPENAPI_PATH, "application/json", () => {
    json ??= JSON.stringify(document());
    return json;
  });
  page(DOCS_PATH, "text/html", () => PAGE);
  page(`${DOCS_PATH}/start.js`, "text/javascript", () => START);
  router.get(`${DOCS_PATH}/:file`, (request, response, next) => {
    const { file } = request.params;
    if (!ASSETS.has(file)) return next();
    response.set(HEADERS).sendFile(file, { root: assetFolder(), maxAge: ASSETS_MAX_AGE_MS });
  });
  return router;
}

function assetFolder(): string {
  const require = createRequire(import.meta.url);
  return dirname(require.resolve("swagger-ui-dist/package.json"));
}
