import type { Dispatcher, Traffic } from "../../core/context.js";
import { A2AError } from "../../errors.js";
import { toRestBody } from "../../protocol/status.js";
import { readBody } from "../body.js";
import { type HttpBinding, type HttpRequest, type HttpResponse, parametersOf, pathOf } from "../http.js";
import { queryVersionOf } from "../query-version.js";
import { sse } from "../sse.js";
import { createRpcEngine, type RpcEngineOptions, type RpcSingle, type RpcStream } from "./engine.js";

export interface JsonRpcBindingOptions extends RpcEngineOptions {
  /** Largest request body in bytes, decompressed. */
  readonly maxBytes: number;
  /** Milliseconds of silence after which a stream shows that it is alive. Default 15 000. */
  readonly heartbeatMs?: number | undefined;
}

const JSON_TYPE = "application/json";

/** Outcomes that HTTP's own machinery (clients, proxies, browsers) must see; any other answer is a 200. */
const HTTP_STATUSES: ReadonlySet<number> = new Set([401, 413, 429, 503]);

/** JSON-RPC over HTTP: `POST /`, and `POST /{tenant}` where an agent is served at that tenant. OPTIONS is not taken. */
export function createJsonRpcBinding(options: JsonRpcBindingOptions): HttpBinding {
  const { dispatcher, maxBytes, heartbeatMs } = options;
  const engine = createRpcEngine(options);

  async function answer(request: HttpRequest, address: Address): Promise<HttpResponse> {
    const traffic = { received: 0, sent: 0 };
    let source: Uint8Array;
    try {
      checkMediaType(request);
      source = await readBody(request, { maxBytes });
    } catch (thrown) {
      return single(engine.refuse(traffic, thrown));
    }
    const answered = await engine.answer({
      source,
      traffic,
      addressTenant: address.tenant,
      queryVersion: queryVersionOf(request.target),
      parameters: parametersOf(request.headers),
      caller: request.caller,
    });
    return answered.kind === "single" ? single(answered) : streamed(answered, request, traffic);
  }

  async function streamed(
    answered: RpcStream,
    request: HttpRequest,
    traffic: Traffic,
  ): Promise<HttpResponse> {
    try {
      const { events, headers } = answered;
      return await sse(events, { headers, traffic, caller: request.caller, heartbeatMs, form: answered });
    } catch (thrown) {
      // Nothing has been sent yet: an ordinary error, which the dispatcher has reported.
      const error = A2AError.from(thrown);
      return single({ kind: "single", text: answered.fail(error), headers: {}, error });
    }
  }

  function refuseMethod(): HttpResponse {
    const refused = new A2AError("METHOD_NOT_ALLOWED", { headers: { allow: "POST, OPTIONS" } });
    const error = dispatcher.refuse({ wire: "jsonrpc", traffic: { received: 0, sent: 0 } }, refused);
    return {
      status: error.row.http,
      headers: { "content-type": JSON_TYPE, ...error.headers },
      body: toRestBody(error),
    };
  }

  return (request) => {
    const address = addressOf(request.target, dispatcher);
    if (address === undefined || request.method === "OPTIONS") return undefined;
    return request.method === "POST" ? answer(request, address) : Promise.resolve(refuseMethod());
  };
}

/** An address that is ours. */
interface Address {
  /** Undefined at `/`, where the message says whom it is for. */
  readonly tenant: string | undefined;
}

const ROOT: Address = { tenant: undefined };

/** Undefined for an address that is none of ours. A segment is decoded once, after splitting. */
function addressOf(target: string, dispatcher: Dispatcher): Address | undefined {
  const path = pathOf(target);
  if (path === "/" || path === "") return ROOT;
  const segment = /^\/([^/]+)\/?$/.exec(path)?.[1];
  const tenant = segment === undefined ? undefined : decodeSegment(segment);
  return tenant !== undefined && dispatcher.hasTenant(tenant) ? { tenant } : undefined;
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** JSON in UTF-8, or a body that does not say what it is. */
function checkMediaType({ headers }: HttpRequest): void {
  if (headers["content-type"] === JSON_TYPE) return; // what nearly everybody sends
  const [type = "", ...parameters] = String(headers["content-type"] ?? "")
    .toLowerCase()
    .split(";");
  if (!/^(?:application\/json|[^/\s]+\/[^/\s]+\+json)?$/.test(type.trim())) {
    throw new A2AError("MEDIA_TYPE_NOT_SUPPORTED", { text: "The body must be application/json." });
  }
  const charset = parameters
    .map((text) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(text)?.[1])
    .find((name) => name);
  if (charset !== undefined && charset !== "utf-8" && charset !== "utf8") {
    throw new A2AError("MEDIA_TYPE_NOT_SUPPORTED", { text: "The body must be in UTF-8." });
  }
}

function single({ text, headers, error }: RpcSingle): HttpResponse {
  if (error === undefined)
    return { status: 200, headers: { "content-type": JSON_TYPE, ...headers }, body: text };
  const { http } = error.row;
  const retry =
    error.retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(error.retryAfterMs / 1000)) };
  return {
    status: HTTP_STATUSES.has(http) ? http : 200,
    headers: { "content-type": JSON_TYPE, ...error.headers, ...retry },
    body: text,
  };
}
