/** Where the OpenAPI document is found. */
export const OPENAPI_PATH = "/openapi.json";
/** Where the readable page is found. */
export const DOCS_PATH = "/docs";
