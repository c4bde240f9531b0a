import { describe, expect, it } from "vitest";
import { mountProblem, tenantProblem } from "../../../src/core/tenants.js";

const OWNED = "this path belongs to the gateway itself.";
const FORM = "a tenant has 1 to 128 letters, digits, or _ . ~ -, and begins with a letter or digit.";

describe("S1-06 the names that a tenant may have", () => {
  it.each(["", "a", "acme", "A-1_b.c~d", "task", "1".repeat(128), "constructor"])("%j is fine", (tenant) => {
    expect(tenantProblem(tenant)).toBeUndefined();
  });

  it.each([
    "tasks",
    "extendedAgentCard",
    "health",
    "healthz",
    "readyz",
    "metrics",
    "docs",
    "openapi.json",
    "lf.a2a.v1.A2AService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
  ])("%s belongs to the gateway", (tenant) => {
    expect(tenantProblem(tenant)).toBe(OWNED);
    expect(mountProblem(`/${tenant}`)).toBe(OWNED);
  });

  it.each(["message:send", "message:stream", ".well-known"])(
    "%s is no name, and a mount there is refused",
    (name) => {
      expect(tenantProblem(name)).toBe(FORM);
      expect(mountProblem(`/${name}/x`)).toBe(OWNED);
    },
  );

  it.each([".", "..", "a/b", "a b", "ä", "-a", "a:b", "a%2fb", "a".repeat(129)])(
    "%j is no name",
    (tenant) => {
      expect(tenantProblem(tenant)).toBe(FORM);
    },
  );

  it("is no mount's", () => {
    expect(tenantProblem("rest", ["/jsonrpc", "/rest/a2a"])).toBe("this path is a mount.");
    expect(mountProblem("/rest/tasks")).toBeUndefined();
  });
});
