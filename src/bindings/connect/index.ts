/** Connect, gRPC-Web and gRPC on the HTTP port (docs/connect.md). */
import type { DescService } from "@bufbuild/protobuf";
import type { Dispatcher } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { DEFAULT_DEPTH } from "../../protocol/depth.js";
import { A2AService } from "../../protocol/schema.js";
import { type HttpBinding, type HttpRequest, type HttpResponse, pathOf } from "../http.js";
import type { SideService } from "../side-service.js";
import { createEndpoints, type Endpoint } from "./endpoint.js";
import { type Format, formatOf, MEDIA_TYPES } from "./format.js";
import { answerStream, streamFailure } from "./streaming.js";
import { answerUnary, connectFailure } from "./unary.js";

/** What is served over Connect, gRPC-Web and gRPC. */
export interface ConnectBindingOptions {
  readonly dispatcher: Dispatcher;
  /** Services whose calls go to the dispatcher. Default: A2AService. */
  readonly services?: readonly DescService[];
  /** Services answered beside it: health, reflection. */
  readonly sides?: readonly SideService[];
  /** Largest message in bytes, decompressed. */
  readonly maxBytes: number;
  /** Levels of objects and lists that a message may have as JSON. Default 100. */
  readonly maxDepth?: number | undefined;
}

const ALLOW = { allow: "POST, OPTIONS" };

/**
 * The binding of `/<package>.<Service>/<Method>`. It takes every path below its services, and any other path
 * that is called with a media type of these protocols: what is not there is UNIMPLEMENTED in the caller's protocol.
 */
export function createConnectBinding(options: ConnectBindingOptions): HttpBinding {
  const { dispatcher, services = [A2AService], sides = [], maxBytes, maxDepth = DEFAULT_DEPTH } = options;
  const endpoints = createEndpoints(dispatcher, services, sides);
  const all = [...services, ...sides.map(({ service }) => service)];
  const prefixes = all.map(({ typeName }) => `/${typeName}/`);

  const refuse = (format: Format | undefined, thrown: A2AError, endpoint?: Endpoint): HttpResponse => {
    const refused = { wire: format?.wire ?? "connect", traffic: { received: 0, sent: 0 } } as const;
    const error = endpoint?.refuse(thrown, refused) ?? dispatcher.refuse(refused, thrown);
    if (format === undefined || format.framing === "bare") return connectFailure(error);
    return streamFailure(format, format.framing, error);
  };

  const answer = async (
    request: HttpRequest,
    endpoint: Endpoint | undefined,
    format: Format | undefined,
  ): Promise<HttpResponse> => {
    if (request.method === "OPTIONS") return { status: 204, headers: ALLOW };
    if (request.method !== "POST")
      return refuse(undefined, new A2AError("METHOD_NOT_ALLOWED", { headers: ALLOW }));
    if (endpoint === undefined) return refuse(format, new A2AError("METHOD_NOT_FOUND"));
    if (format === undefined || !fits(format, endpoint))
      return refuse(undefined, wrongType(endpoint), endpoint);
    const opening = { endpoint, format, request, maxBytes, maxDepth };
    return format.framing === "bare" ? answerUnary(opening) : answerStream(opening, format.framing);
  };

  return (request) => {
    const path = pathOf(request.target);
    const endpoint = endpoints.get(path);
    const contentType = request.headers["content-type"];
    const format = formatOf(typeof contentType === "string" ? contentType : undefined);
    const ours = endpoint !== undefined || prefixes.some((prefix) => path.startsWith(prefix));
    if (!ours && (format === undefined || format.framing === "bare")) return undefined;
    return answer(request, endpoint, format);
  };
}

/** Connect lays unary calls out in one way and streams in another; gRPC knows one way for both. */
function fits({ wire, framing }: Format, { method }: Endpoint): boolean {
  return wire !== "connect" || (framing === "bare") === (method.methodKind === "unary");
}

function wrongType({ method }: Endpoint): A2AError {
  const kind = method.methodKind === "unary" ? "application/json" : "application/connect+json";
  return new A2AError("MEDIA_TYPE_NOT_SUPPORTED", {
    text: `${method.name} over Connect takes ${kind} or its protobuf twin, in UTF-8.`,
    headers: { "accept-post": MEDIA_TYPES },
  });
}
