import type { HttpHeaders, HttpRequest, HttpResponse } from "../bindings/http.js";

/** Which web pages may call the HTTP port. */
export interface CorsOptions {
  /** `*`, or origins such as `https://app.example`, one of which may be `*`. Empty: none. */
  readonly origins: "*" | readonly string[];
}

type Headers = Readonly<Record<string, string>>;
type CorsRequest = Pick<HttpRequest, "headers"> & { readonly method?: string | undefined };

/** The cross-origin rules of one host. */
export interface Cors {
  /** False: no page of another origin may call, and a preflight is a request like any other. */
  readonly enabled: boolean;
  /** Headers that the answer to this request carries. */
  headersFor(request: CorsRequest): Headers;
  /** The answer to a preflight: what the address itself says to OPTIONS, with the permissions added. */
  preflight(request: CorsRequest, own: HttpResponse | undefined): HttpResponse;
}

/** Request headers that the wires read. */
const ALLOWED_HEADERS = [
  "accept",
  "authorization",
  "content-type",
  "a2a-version",
  "a2a-extensions",
  "last-event-id",
  "if-none-match",
  "if-modified-since",
  "connect-protocol-version",
  "connect-timeout-ms",
  "connect-accept-encoding",
  "connect-content-encoding",
  "grpc-timeout",
  "grpc-accept-encoding",
  "grpc-encoding",
  "x-grpc-web",
  "x-user-agent",
  "switchyard-last-event-id",
  "traceparent",
  "tracestate",
];

/** Response headers that a page may see besides the few that browsers show anyway. */
const EXPOSED_HEADERS = [
  "a2a-version",
  "a2a-extensions",
  "allow",
  "connect-content-encoding",
  "etag",
  "grpc-encoding",
  "grpc-message",
  "grpc-status",
  "grpc-status-details-bin",
  "retry-after",
  "switchyard-event-id",
  "www-authenticate",
].join(", ");

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
/** Browsers ask again after this time. Seconds; the longest that Chromium honours. */
const MAX_AGE = "7200";
const NONE: Headers = Object.freeze({});

/** True for the request that a browser sends to ask whether it may send another. */
export function isPreflight({ method, headers }: CorsRequest): boolean {
  return (
    method === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}

/** Without options no page of another origin may read answers. Credentials (cookies) are never allowed. */
export function createCors(options: CorsOptions = { origins: [] }): Cors {
  const { origins } = options;
  const everyone = origins.includes("*");
  const listed = new Set(typeof origins === "string" || everyone ? [] : origins);
  const varying = listed.size > 0 ? Object.freeze({ vary: "origin" }) : NONE;
  const any = permission("*", NONE);
  const allowed = new Map([...listed].map((origin) => [origin, permission(origin, varying)]));
  const headersFor = ({ method, headers }: CorsRequest) => {
    const { origin } = headers;
    // Without an origin only what a cache may keep for a page needs them.
    if (origin === undefined && method !== "GET" && method !== "HEAD") return NONE;
    if (everyone) return any;
    return (typeof origin === "string" ? allowed.get(origin) : undefined) ?? varying;
  };
  return {
    enabled: everyone || listed.size > 0,
    headersFor,
    preflight(request, own) {
      const kept = own?.status === 204 ? own.headers : NONE;
      const granted = "access-control-allow-origin" in headersFor(request) ? grant(request.headers) : NONE;
      return { status: 204, headers: { ...kept, ...granted } };
    },
  };
}

function permission(origin: string, varying: Headers): Headers {
  return Object.freeze({
    ...varying,
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_HEADERS,
  });
}

/** What is asked for beside the usual is granted too: which header carries an API key is the operator's choice. */
function grant(request: HttpHeaders): Headers {
  const asked = String(request["access-control-request-headers"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => /^[\w!#$%&'*+.^`|~-]{1,128}$/.test(name));
  return {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": [...new Set([...ALLOWED_HEADERS, ...asked])].join(", "),
    "access-control-max-age": MAX_AGE,
  };
}
