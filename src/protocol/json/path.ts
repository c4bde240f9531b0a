const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** One step of a JSON path: `.name`, `["odd name"]` or `[0]`. */
export function step(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return PLAIN_KEY.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** Steps joined to a path; the first name bears no dot. */
export function pathOf(steps: readonly string[]): string {
  const path = steps.join("");
  return path.startsWith(".") ? path.slice(1) : path;
}
