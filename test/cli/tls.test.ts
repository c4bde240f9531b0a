import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createAuthority } from "../support/certificates.js";
import { type ClientTls, createHttpClient, textOf } from "../support/http-client.js";
import { createWorkplace, type Workplace } from "../support/program.js";
import { createGrpcClient } from "../support/wires/grpc.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let workplace: Workplace;
beforeEach(() => {
  workplace = createWorkplace();
});
afterEach(() => workplace.close());

const AUTHORITY = createAuthority("ours");

it("serves TLS on both ports with the files of its configuration, and asks clients for certificates", async () => {
  const write = (name: string, content: string) => writeFileSync(join(workplace.directory, name), content);
  write("cert.pem", AUTHORITY.server.cert);
  write("key.pem", AUTHORITY.server.key);
  write("clients.pem", AUTHORITY.cert);
  write(
    "switchyard.yaml",
    "store: memory\ntls: { certFile: cert.pem, keyFile: key.pem, clientCaFile: clients.pem }",
  );
  const program = await workplace.serve();
  const [, grpcPort] = await program.seen(/gRPC +127\.0\.0\.1:(\d+)/);
  expect(program.url).toMatch(/^https:/);
  const http = { host: "127.0.0.1", port: Number(new URL(program.url).port) };
  const grpc = { host: "127.0.0.1", port: Number(grpcPort) };

  const known: ClientTls = { ca: AUTHORITY.cert, ...AUTHORITY.client };
  for (const version of [1, 2] as const) {
    const card = async (tls: ClientTls) => {
      const client = createHttpClient({ ...http, tls }, version);
      try {
        return await textOf(await client.ask({ method: "GET", path: "/.well-known/agent-card.json" }));
      } finally {
        await client.close();
      }
    };
    expect(await card(known)).toContain(`"${program.url}"`);
    await expect(card({ ca: AUTHORITY.cert })).rejects.toThrow();
  }
  const task = async (tls: ClientTls) => {
    const client = createGrpcClient({ ...grpc, tls });
    return await client.call("GetTask", { id: "none" }).finally(client.close);
  };
  expect(await task(known)).toMatchObject({ error: { reason: "TASK_NOT_FOUND" } });
  expect(await task({ ca: AUTHORITY.cert })).toMatchObject({ error: { code: "UNAVAILABLE" } });
});
