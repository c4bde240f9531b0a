import { getOption } from "@bufbuild/protobuf";
import { A2AService, type HttpRule, http } from "../protocol/schema.js";

/** First path segments that belong to the HTTP port itself, besides those of REST. */
const PORT_SEGMENTS = [
  ".well-known",
  A2AService.typeName,
  "health",
  "healthz",
  "readyz",
  "metrics",
  "docs",
  "openapi.json",
];

/** First path segments that REST's own paths begin with, such as `tasks`. */
function restSegments(): string[] {
  return A2AService.methods
    .flatMap((method) => {
      const rule = getOption(method, http);
      return [rule, ...rule.additionalBindings];
    })
    .map((rule: HttpRule) => String(rule.pattern.value).split("/")[1] ?? "")
    .filter((segment) => !segment.startsWith("{"));
}

const OWNED: ReadonlySet<string> = new Set([...PORT_SEGMENTS, ...restSegments()]);

const TENANT = /^[A-Za-z0-9][A-Za-z0-9_.~-]{0,127}$/;

/**
 * What is wrong with a tenant's name; undefined when nothing is. The empty name, the default agent, is fine.
 * `mounts` are the path prefixes of bindings.
 */
export function tenantProblem(tenant: string, mounts: readonly string[] = []): string | undefined {
  if (tenant === "") return undefined;
  if (!TENANT.test(tenant)) {
    return "a tenant has 1 to 128 letters, digits, or _ . ~ -, and begins with a letter or digit.";
  }
  // gRPC's own services live beside ours on the HTTP port.
  if (OWNED.has(tenant) || tenant.startsWith("grpc.")) return "this path belongs to the gateway itself.";
  const isMounted = mounts.some((mount) => mount.split("/")[1] === tenant);
  return isMounted ? "this path is a mount." : undefined;
}

/** What is wrong with a mount's path; undefined when nothing is. */
export function mountProblem(mount: string): string | undefined {
  const segment = mount.split("/")[1] ?? "";
  return OWNED.has(segment) || segment.startsWith("grpc.")
    ? "this path belongs to the gateway itself."
    : undefined;
}
