/** gRPC on a port of its own, over grpc-js (docs/grpc.md). */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ServiceDefinition, UntypedHandleCall, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Dispatcher } from "../../core/context.js";
import type { A2AError } from "../../errors.js";
import { DEFAULT_DEPTH } from "../../protocol/depth.js";
import { A2AService } from "../../protocol/schema.js";
import type { SideService } from "../side-service.js";
import { dispatchedStream, dispatchedUnary } from "./dispatched.js";
import { createOpenCalls } from "./open-calls.js";
import { sideHandler } from "./sides.js";
import { asBuffer } from "./status.js";

/** What is served over gRPC. */
export interface GrpcBindingOptions {
  readonly dispatcher: Dispatcher;
  /** Services whose calls go to the dispatcher. Default: A2AService. */
  readonly services?: readonly DescService[];
  /** Services answered beside it: health, reflection. */
  readonly sides?: readonly SideService[];
  /** Levels of objects and lists that a message may have as JSON. Default 100. */
  readonly maxDepth?: number | undefined;
}

/** A service as grpc-js takes it. */
export interface GrpcService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** The gRPC binding, for a grpc-js server. */
export interface GrpcBinding {
  readonly services: readonly GrpcService[];
  /** Ends every open call with this reason. */
  interrupt(reason: A2AError): void;
  /** Resolves when no call is open. */
  idle(): Promise<void>;
}

/**
 * Services with one handler for all their methods, derived from the descriptor. grpc-js moves bytes only: the
 * binding decodes and encodes, so that malformed protobuf is INVALID_ARGUMENT by our table.
 */
export function createGrpcBinding(options: GrpcBindingOptions): GrpcBinding {
  const { dispatcher, services = [A2AService], sides = [], maxDepth = DEFAULT_DEPTH } = options;
  const open = createOpenCalls();
  const dispatched = (method: DescMethod): UntypedHandleCall => {
    refuseManyRequests(method);
    const create = method.methodKind === "unary" ? dispatchedUnary : dispatchedStream;
    return create({ dispatcher, method, open, maxDepth });
  };
  return {
    services: [
      ...services.map((service) => serve(service, dispatched)),
      ...sides.map((side) => serve(side.service, (method) => sideHandler({ side, method, open, maxDepth }))),
    ],
    interrupt: open.interrupt,
    idle: open.idle,
  };
}

/** A call has one request. */
function refuseManyRequests({ methodKind, parent, name }: DescMethod): void {
  if (methodKind === "unary" || methodKind === "server_streaming") return;
  throw new Error(`${parent.typeName}.${name} takes a stream of requests, which the dispatcher does not.`);
}

function serve(service: DescService, handlerOf: (method: DescMethod) => UntypedHandleCall): GrpcService {
  const { methods } = service;
  return {
    definition: Object.fromEntries(methods.map((method) => [method.name, definitionOf(method)])),
    implementation: Object.fromEntries(methods.map((method) => [method.name, handlerOf(method)])),
  };
}

function definitionOf({ parent, name, methodKind }: DescMethod): ServiceDefinition[string] {
  return {
    path: `/${parent.typeName}/${name}`,
    requestStream: methodKind === "client_streaming" || methodKind === "bidi_streaming",
    responseStream: methodKind === "server_streaming" || methodKind === "bidi_streaming",
    requestSerialize: asBuffer,
    requestDeserialize: asBuffer,
    responseSerialize: asBuffer,
    responseDeserialize: asBuffer,
  };
}
