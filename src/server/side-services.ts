import type { DescService } from "@bufbuild/protobuf";
import type { SideService } from "../bindings/side-service.js";
import { createHealth, type Health } from "./health.js";
import { createReflection } from "./reflection.js";

/** What every RPC port serves beside its main services. */
export interface SideServices {
  readonly health: Health;
  /** Health and both versions of reflection. */
  readonly all: readonly SideService[];
}

/** Health and reflection of these services. Every service that reflection lists can be found by its name, health included. */
export function createSideServices(services: readonly DescService[]): SideServices {
  const health = createHealth(services.map(({ typeName }) => typeName));
  return { health, all: [health, ...createReflection([...services, health.service])] };
}
