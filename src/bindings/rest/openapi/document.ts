import type { DescService, JsonObject } from "@bufbuild/protobuf";
import { COMMENTS } from "../../../protocol/comments.js";
import { A2AService } from "../../../protocol/schema.js";
import { takesRawBody } from "../request-body.js";
import { type Route, type RouteOptions, routesOf } from "../routes.js";
import { A2A_CONSTRAINTS, type Constraints } from "./constraints.js";
import { type Comments, describe, summarize } from "./describe.js";
import { pathOf, queryParametersOf } from "./parameters.js";
import { failureComponents, jsonContent, responsesOf } from "./responses.js";
import { createSchemas, type Schemas } from "./schemas.js";
import { type Security, securityComponents, securityOf } from "./security.js";

/** What a document says besides what the annotations say. */
export interface OpenApiOptions extends RouteOptions, Security {
  /** Services to document. Default: A2AService. */
  readonly services?: readonly DescService[] | undefined;
  readonly title: string;
  /** Version of what is described, not of OpenAPI. */
  readonly version: string;
  readonly description?: string | undefined;
  /** Base URLs, without a slash at their end. */
  readonly servers: readonly string[];
  /** Default: the comments of the A2A contract. */
  readonly comments?: Comments | undefined;
  /** Default: those of the A2A operations. */
  readonly constraints?: Constraints | undefined;
  /** Protocol versions that `A2A-Version` may name, newest first. Default `["1.0"]`. */
  readonly versions?: readonly string[] | undefined;
  /** False when calls without a version are taken, too. Default true. */
  readonly versionRequired?: boolean | undefined;
}

/** The HTTP methods that OpenAPI has a place for. */
const METHODS = new Set(["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"]);

/** The REST addresses of some services as an OpenAPI 3.1 document. Routes of other HTTP methods are left out. */
export function createOpenApiDocument(options: OpenApiOptions): JsonObject {
  const { services = [A2AService], comments = COMMENTS, constraints = A2A_CONSTRAINTS } = options;
  const schemas = createSchemas({
    packageName: services[0]?.file.proto.package ?? "",
    comments,
    constraints,
    requests: services.flatMap(({ methods }) => methods.map(({ input }) => input)),
  });
  const routes = services.flatMap((service) => routesOf(service, options));
  const paths = pathsOf(routes, { schemas, comments });
  const failures = failureComponents();
  return {
    openapi: "3.1.0",
    info: {
      title: options.title,
      version: options.version,
      ...(options.description !== undefined && { description: options.description }),
    },
    servers: options.servers.map((url) => ({ url })),
    tags: services.map((service) => ({ name: service.name, ...describe(comments, service.typeName) })),
    ...securityOf(options),
    paths,
    components: {
      schemas: { ...schemas.components(), ...failures.schemas },
      responses: failures.responses,
      parameters: headerParameters(options),
      ...securityComponents(options),
    },
  };
}

interface Sources {
  readonly schemas: Schemas;
  readonly comments: Comments;
}

function pathsOf(routes: readonly Route[], sources: Sources): JsonObject {
  const paths = new Map<string, JsonObject>();
  const ids = new Map<string, number>();
  for (const route of routes.filter(({ httpMethod }) => METHODS.has(httpMethod))) {
    const { path, parameters } = pathOf(route, sources.schemas);
    const count = (ids.get(route.method.name) ?? 0) + 1;
    ids.set(route.method.name, count);
    const id = count === 1 ? route.method.name : `${route.method.name}${count}`;
    const operation = operationOf(route, { ...sources, id, pathParameters: parameters });
    paths.set(path, { ...paths.get(path), [route.httpMethod.toLowerCase()]: operation });
  }
  return Object.fromEntries(paths);
}

function operationOf(
  route: Route,
  {
    schemas,
    comments,
    id,
    pathParameters,
  }: Sources & { readonly id: string; readonly pathParameters: readonly JsonObject[] },
): JsonObject {
  const { method } = route;
  const resumable = method.methodKind === "server_streaming" ? [reference("LastEventId")] : [];
  return {
    operationId: id,
    tags: [method.parent.name],
    ...summarize(comments, `${method.parent.typeName}.${method.name}`),
    ...(method.deprecated && { deprecated: true }),
    parameters: [
      ...pathParameters,
      ...queryParametersOf(route, schemas),
      reference("A2AVersion"),
      reference("A2AExtensions"),
      ...resumable,
    ],
    ...requestBodyOf(route, schemas),
    responses: responsesOf(route, schemas),
  };
}

function requestBodyOf(route: Route, schemas: Schemas): JsonObject {
  const { body, method, captures } = route;
  if (body.kind === "none") return {};
  if (takesRawBody(route)) return { requestBody: { content: { "*/*": {} } } };
  if (body.kind === "field") {
    return { requestBody: { content: jsonContent({ schema: schemas.field(body.field) }) } };
  }
  const bound = new Set(captures.flatMap(({ path }) => (path?.parents.length === 0 ? [path.name] : [])));
  const schema = bound.size === 0 ? schemas.message(method.input) : schemas.without(method.input, bound);
  const content = jsonContent({ schema });
  const { required = [] } = schemas.without(method.input, bound);
  return { requestBody: { content, ...((required as string[]).length > 0 && { required: true }) } };
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/parameters/${name}` };
}

function headerParameters({ versions = ["1.0"], versionRequired = true }: OpenApiOptions): JsonObject {
  return {
    A2AVersion: {
      name: "A2A-Version",
      in: "header",
      required: versionRequired,
      description: "Protocol version of the request. The query parameter of the same name is equal to it.",
      schema: { type: "string", enum: [...versions] },
    },
    A2AExtensions: {
      name: "A2A-Extensions",
      in: "header",
      description: "URIs of the extensions that the client wants to use, joined by commas.",
      schema: { type: "string" },
    },
    LastEventId: {
      name: "Last-Event-ID",
      in: "header",
      description: "Id of the last event that was seen: the stream goes on after it.",
      schema: { type: "string" },
    },
  };
}
