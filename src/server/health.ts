import { create, type Message } from "@bufbuild/protobuf";
import {
  type HealthCheckRequest,
  HealthCheckResponseSchema,
  Health as HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.js";
import type { SideService } from "../bindings/side-service.js";
import { A2AError } from "../errors.js";
import { shuttingDown } from "./settles.js";

/** `grpc.health.v1` for the services of a gateway; one for all its ports. */
export interface Health extends SideService {
  /** SERVING or NOT_SERVING, for everything at once; who watches is told. */
  setServing(serving: boolean): void;
  /** NOT_SERVING for good. Who watches is told, and the watch ends with UNAVAILABLE: it would keep a port open that drains. */
  end(): void;
}

/** Health of these services (full names) and of the server as a whole (the empty name). SERVING at first. */
export function createHealth(services: readonly string[]): Health {
  const known = new Set(["", HealthService.typeName, ...services]);
  const watchers = new Set<() => void>();
  let serving = true;
  let over = false;
  const statusOf = (service: string) => {
    if (!known.has(service)) return Status.SERVICE_UNKNOWN;
    return serving ? Status.SERVING : Status.NOT_SERVING;
  };

  async function* check(service: string): AsyncGenerator<Message> {
    if (!known.has(service)) throw new A2AError("NOT_FOUND", { text: "This service is not known here." });
    yield create(HealthCheckResponseSchema, { status: statusOf(service) });
  }

  async function* watch(service: string, signal: AbortSignal): AsyncGenerator<Message> {
    let told: Status | undefined;
    while (!signal.aborted) {
      const status = statusOf(service);
      if (status !== told) yield create(HealthCheckResponseSchema, { status });
      told = status;
      if (over) throw shuttingDown();
      if (statusOf(service) === told) await nextChange(signal);
    }
  }

  function nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        watchers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      if (signal.aborted) wake();
      watchers.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  function setServing(value: boolean): void {
    serving = value;
    for (const wake of watchers) wake();
  }

  return {
    service: HealthService,
    setServing,
    end() {
      over = true;
      setServing(false);
    },
    async *answer(method, requests, signal) {
      for await (const request of requests) {
        const { service } = request as HealthCheckRequest;
        yield* method === HealthService.method.watch ? watch(service, signal) : check(service);
        return;
      }
    },
  };
}
