import type { HttpBinding, HttpRequest, HttpResponse } from "../bindings/http.js";

/** A binding's second address. */
export interface Mount {
  /** Path prefix, `/jsonrpc`: starts with a slash, ends without. Taken off before the binding sees the target. */
  readonly prefix: string;
  readonly binding: HttpBinding;
}

/** Where a request belongs. */
export interface Route {
  /** In origin form, less the mount prefix. */
  readonly target: string;
  readonly bindings: readonly HttpBinding[];
}

/** Finds who is asked for a raw target. What lies below a mount is asked of no other binding. */
export function createRoutes(
  bindings: readonly HttpBinding[],
  mounts: readonly Mount[],
): (raw: string) => Route {
  const below = mounts.map(({ prefix, binding }) => ({ prefix, bindings: [binding] }));
  return (raw) => {
    const target = originForm(raw);
    for (const { prefix, bindings } of below) {
      if (isBelow(target, prefix)) return { target: rooted(target.slice(prefix.length)), bindings };
    }
    return { target, bindings };
  };
}

/** The answer of the first binding that takes the request. A binding that throws has failed, like one that rejects. */
export function offer(
  bindings: readonly HttpBinding[],
  request: HttpRequest,
): Promise<HttpResponse> | undefined {
  try {
    for (const binding of bindings) {
      const answer = binding(request);
      if (answer !== undefined) return answer;
    }
    return undefined;
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** A target in absolute form (RFC 9112, 3.2.2), as proxies send it, means the same as its path and query. */
function originForm(target: string): string {
  if (target.startsWith("/") || target === "*") return target;
  return rooted(target.replace(/^https?:\/\/[^/?#]*/i, ""));
}

function isBelow(target: string, prefix: string): boolean {
  return target.startsWith(prefix) && ["", "/", "?"].includes(target.charAt(prefix.length));
}

function rooted(target: string): string {
  return target.startsWith("/") ? target : `/${target}`;
}
