import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../../gen/grpc/health/v1/health_pb.js";
import {
  ServerReflection,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as Alpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { file_lf_a2a_v1_a2a } from "../../../src/protocol/schema.js";
import { type RpcHosts, startRpcHosts } from "../../support/rpc-host.js";

const run = promisify(execFile);
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(): Promise<RpcHosts> {
  const hosts = await startRpcHosts();
  cleanUps.push(hosts.close);
  return hosts;
}

const urlsOf = ({ httpPort, grpcPort }: RpcHosts) =>
  [httpPort, grpcPort].map((port) => `http://127.0.0.1:${port}`);

/** `buf curl`, the debugging client that users have; without a schema it asks by reflection. */
async function bufCurl(...args: string[]): Promise<string> {
  const { stdout } = await run("node_modules/.bin/buf", ["curl", ...args]);
  return stdout;
}

type Question = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;

async function reflect(baseUrl: string, ...questions: Question[]): Promise<ServerReflectionResponse[]> {
  const client = createClient(ServerReflection, createGrpcTransport({ baseUrl }));
  const requests = (async function* () {
    for (const messageRequest of questions) yield { host: "h", messageRequest };
  })();
  const answers: ServerReflectionResponse[] = [];
  for await (const answer of client.serverReflectionInfo(requests)) answers.push(answer);
  return answers;
}

function filesIn(
  { messageResponse }: ServerReflectionResponse | undefined = {} as never,
): FileDescriptorProto[] {
  expect(messageResponse.case).toBe("fileDescriptorResponse");
  if (messageResponse.case !== "fileDescriptorResponse") return [];
  return messageResponse.value.fileDescriptorProto.map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
}

describe("reflection", () => {
  it("lets buf curl list services and methods on both ports", async () => {
    const hosts = await start();
    for (const url of urlsOf(hosts)) {
      const options = ["--protocol", "grpc", "--http2-prior-knowledge"];
      const services = (await bufCurl(...options, "--list-services", url)).trim().split("\n");
      expect(services).toEqual([
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "lf.a2a.v1.A2AService",
      ]);
      const methods = await bufCurl(...options, "--list-methods", url);
      expect(methods.match(/lf\.a2a\.v1\.A2AService\//g)).toHaveLength(11);
      expect(methods).toContain("grpc.health.v1.Health/Watch");
    }
  });

  it("lets buf curl call without a schema, in every protocol", async () => {
    const hosts = await start();
    const [http, grpc] = urlsOf(hosts) as [string, string];
    const call = "/lf.a2a.v1.A2AService/GetTask";
    for (const protocol of ["connect", "grpcweb", "grpc"]) {
      const answer = await bufCurl("--protocol", protocol, "-d", '{"id":"t1"}', `${http}${call}`);
      expect(JSON.parse(answer)).toMatchObject({ id: "t1" });
    }
    const answer = await bufCurl(
      "--protocol",
      "grpc",
      "--http2-prior-knowledge",
      "-d",
      '{"id":"t1"}',
      `${grpc}${call}`,
    );
    expect(JSON.parse(answer)).toMatchObject({ id: "t1" });
  });

  it("answers each question in order, on both ports and in both versions", async () => {
    const hosts = await start();
    for (const url of urlsOf(hosts)) {
      const answers = await reflect(
        url,
        { case: "fileContainingSymbol", value: "lf.a2a.v1.Task" },
        { case: "fileByFilename", value: "grpc/health/v1/health.proto" },
        { case: "fileContainingSymbol", value: "no.such.Thing" },
        {
          case: "fileContainingExtension",
          value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 72295728 },
        },
        {
          case: "fileContainingExtension",
          value: { containingType: "google.protobuf.MethodOptions", extensionNumber: 1 },
        },
        { case: "allExtensionNumbersOfType", value: "google.protobuf.MethodOptions" },
        { case: "allExtensionNumbersOfType", value: "lf.a2a.v1.Task" },
        { case: "allExtensionNumbersOfType", value: "no.such.Thing" },
        { case: undefined },
      );
      expect(answers).toHaveLength(9);
      expect(answers[0]).toMatchObject({
        validHost: "h",
        originalRequest: { messageRequest: { case: "fileContainingSymbol", value: "lf.a2a.v1.Task" } },
      });
      expect(filesIn(answers[0])[0]?.name).toBe("lf/a2a/v1/a2a.proto");
      expect(filesIn(answers[1]).map(({ name }) => name)).toEqual(["grpc/health/v1/health.proto"]);
      const error = (code: number) => ({
        messageResponse: { case: "errorResponse", value: { errorCode: code } },
      });
      expect(answers[2]).toMatchObject(error(5));
      expect(filesIn(answers[3])[0]?.name).toBe("google/api/annotations.proto");
      expect(answers[4]).toMatchObject(error(5));
      expect(answers[5]?.messageResponse.value).toMatchObject({
        extensionNumber: expect.arrayContaining([72295728]),
      });
      expect(answers[6]?.messageResponse.value).toMatchObject({
        baseTypeName: "lf.a2a.v1.Task",
        extensionNumber: [],
      });
      expect(answers[7]).toMatchObject(error(5));
      expect(answers[8]).toMatchObject(error(3));
    }
    const client = createClient(Alpha, createGrpcTransport({ baseUrl: urlsOf(hosts)[0] ?? "" }));
    const requests = (async function* () {
      yield { messageRequest: { case: "listServices" as const, value: "" } };
    })();
    for await (const { messageResponse } of client.serverReflectionInfo(requests)) {
      expect(messageResponse.case).toBe("listServicesResponse");
    }
  });

  it("serves files byte for byte as they were built, and all that they import", async () => {
    const hosts = await start();
    const [answer] = await reflect(urlsOf(hosts)[1] ?? "", {
      case: "fileContainingSymbol",
      value: "lf.a2a.v1.A2AService",
    });
    if (answer?.messageResponse.case !== "fileDescriptorResponse") throw new Error("no file");
    const built = toBinary(FileDescriptorProtoSchema, file_lf_a2a_v1_a2a.proto);
    expect(
      Buffer.compare(answer.messageResponse.value.fileDescriptorProto[0] ?? Buffer.alloc(0), built),
    ).toBe(0);
    const files = filesIn(answer);
    const names = new Set(files.map(({ name }) => name));
    for (const { dependency } of files) for (const name of dependency) expect(names).toContain(name);
  });

  it.each([
    "lf.a2a.v1.A2AService",
    "lf.a2a.v1.A2AService.GetTask",
    ".lf.a2a.v1.Task",
    "lf.a2a.v1.Task.context_id",
    "lf.a2a.v1.Part.content",
    "lf.a2a.v1.TaskState",
    "lf.a2a.v1.TASK_STATE_WORKING",
    "grpc.health.v1.Health",
    "grpc.health.v1.HealthCheckResponse.ServingStatus",
    "grpc.health.v1.HealthCheckResponse.SERVING",
    "grpc.reflection.v1.ServerReflection",
    "google.api.http",
  ])("finds %s", async (value) => {
    const hosts = await start();
    const [answer] = await reflect(urlsOf(hosts)[0] ?? "", { case: "fileContainingSymbol", value });
    expect(filesIn(answer).length).toBeGreaterThan(0);
  });
});

describe("health", () => {
  it("says SERVING for what is here, and NOT_FOUND for what is not", async () => {
    const hosts = await start();
    for (const baseUrl of urlsOf(hosts)) {
      const client = createClient(Health, createGrpcTransport({ baseUrl }));
      for (const service of ["", "lf.a2a.v1.A2AService", "grpc.health.v1.Health"]) {
        expect((await client.check({ service })).status).toBe(Serving.SERVING);
      }
      const error = await client.check({ service: "no.such" }).catch((thrown) => thrown);
      expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "This service is not known here."]);
    }
    const connect = createClient(
      Health,
      createConnectTransport({ baseUrl: urlsOf(hosts)[0] ?? "", httpVersion: "1.1" }),
    );
    expect((await connect.check({})).status).toBe(Serving.SERVING);
    expect(hosts.dispatcher.calls).toHaveLength(0);
  });

  it("tells who watches, on both ports, and ends when the watcher leaves", async () => {
    const hosts = await start();
    for (const baseUrl of urlsOf(hosts)) {
      hosts.sides.health.setServing(true);
      const client = createClient(Health, createGrpcTransport({ baseUrl }));
      const leaving = new AbortController();
      const watch = client
        .watch({ service: "lf.a2a.v1.A2AService" }, { signal: leaving.signal })
        [Symbol.asyncIterator]();
      expect((await watch.next()).value.status).toBe(Serving.SERVING);
      const change = watch.next();
      hosts.sides.health.setServing(true);
      hosts.sides.health.setServing(false);
      expect((await change).value.status).toBe(Serving.NOT_SERVING);
      const unknown = client
        .watch({ service: "no.such" }, { signal: leaving.signal })
        [Symbol.asyncIterator]();
      expect((await unknown.next()).value.status).toBe(Serving.SERVICE_UNKNOWN);
      const ends = Promise.allSettled([watch.next(), unknown.next()]);
      leaving.abort();
      await ends;
    }
  });

  it("ends with NOT_SERVING, so that watches do not hold up a drain", async () => {
    const hosts = await start();
    const watches = urlsOf(hosts).map((baseUrl) =>
      createClient(Health, createGrpcTransport({ baseUrl })).watch({})[Symbol.asyncIterator](),
    );
    for (const watch of watches) await watch.next();
    const at = Date.now();
    hosts.sides.health.end();
    const drained = Promise.all([hosts.grpc.drain(10_000), hosts.http.drain(10_000)]);
    for (const watch of watches) {
      expect((await watch.next()).value.status).toBe(Serving.NOT_SERVING);
      const error = await watch.next().catch((thrown) => thrown);
      expect(error.code).toBe(Code.Unavailable);
    }
    await drained;
    expect(Date.now() - at).toBeLessThan(2_000);
  });
});
