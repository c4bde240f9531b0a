/** `A2A-Version` in the query of a raw target, a carrier equal to the header (specification 3.6.1). */
export function queryVersionOf(target: string): string | undefined {
  const start = target.indexOf("?");
  if (start < 0) return undefined;
  const query = new URLSearchParams(target.slice(start + 1));
  return query.get("A2A-Version") ?? query.get("a2a-version") ?? undefined;
}
