import type { JsonObject } from "@bufbuild/protobuf";
import type { OAuthFlows, SecurityRequirement, SecurityScheme } from "../../../protocol/schema.js";

/** What a card says about authentication, as OpenAPI says it. */
export interface Security {
  readonly securitySchemes?: Readonly<Record<string, SecurityScheme>> | undefined;
  /** Alternatives; each names the schemes that are needed together. Empty: none is needed. */
  readonly securityRequirements?: readonly SecurityRequirement[] | undefined;
}

/** Components for the schemes of a card. */
export function securityComponents({ securitySchemes = {} }: Security): JsonObject {
  const schemes = Object.entries(securitySchemes).flatMap(([name, scheme]): [string, JsonObject][] => {
    const written = schemeOf(scheme);
    return written ? [[name, written]] : [];
  });
  return schemes.length === 0 ? {} : { securitySchemes: Object.fromEntries(schemes) };
}

/** The requirements of a card, for the whole document. */
export function securityOf({ securityRequirements = [] }: Security): JsonObject {
  if (securityRequirements.length === 0) return {};
  const alternatives = securityRequirements.map(({ schemes }) =>
    Object.fromEntries(Object.entries(schemes).map(([name, { list }]) => [name, [...list]])),
  );
  return { security: alternatives };
}

function schemeOf({ scheme }: SecurityScheme): JsonObject | undefined {
  switch (scheme.case) {
    case "apiKeySecurityScheme": {
      const { description, location, name } = scheme.value;
      return { type: "apiKey", in: location, name, ...text({ description }) };
    }
    case "httpAuthSecurityScheme": {
      const { description, scheme: kind, bearerFormat } = scheme.value;
      return { type: "http", scheme: kind.toLowerCase(), ...text({ description, bearerFormat }) };
    }
    case "oauth2SecurityScheme": {
      const { description, flows } = scheme.value;
      return { type: "oauth2", flows: flowsOf(flows), ...text({ description }) };
    }
    case "openIdConnectSecurityScheme": {
      const { description, openIdConnectUrl } = scheme.value;
      return { type: "openIdConnect", openIdConnectUrl, ...text({ description }) };
    }
    case "mtlsSecurityScheme":
      return { type: "mutualTLS", ...text({ description: scheme.value.description }) };
    case undefined:
      return undefined;
  }
}

/** OpenAPI 3.1 has no device flow; the extension says what a later version calls it. */
const FLOW_NAMES = {
  authorizationCode: "authorizationCode",
  clientCredentials: "clientCredentials",
  implicit: "implicit",
  password: "password",
  deviceCode: "x-deviceAuthorization",
} as const;

function flowsOf(flows: OAuthFlows | undefined): JsonObject {
  const flow = flows?.flow;
  if (flow?.case === undefined) return {};
  const { $typeName: _, $unknown: __, scopes, ...rest } = flow.value;
  const urls = Object.entries(rest).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value]] : [],
  );
  return { [FLOW_NAMES[flow.case]]: { ...text(Object.fromEntries(urls)), scopes: { ...scopes } } };
}

/** The texts that are not empty. */
function text(texts: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== ""));
}
