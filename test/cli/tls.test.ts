import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
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
const RENEWED = createAuthority("later");

function write(name: string, content: string): void {
  writeFileSync(join(workplace.directory, name), content);
}

/** Serves with certificate and key from files; `more` stands behind them in the configuration. */
async function serve(more = "") {
  write("cert.pem", AUTHORITY.server.cert);
  write("key.pem", AUTHORITY.server.key);
  write("switchyard.yaml", `store: memory\ntls: { certFile: cert.pem, keyFile: key.pem${more} }`);
  const program = await workplace.serve();
  const [, grpcPort] = await program.seen(/gRPC +127\.0\.0\.1:(\d+)/);
  expect(program.url).toMatch(/^https:/);
  const host = "127.0.0.1";
  const http = { host, port: Number(new URL(program.url).port) };
  return { program, http, grpc: { host, port: Number(grpcPort) } };
}

it("serves TLS on both ports, and asks clients for certificates, with the files of its configuration", async () => {
  write("clients.pem", AUTHORITY.cert);
  const { program, http, grpc } = await serve(", clientCaFile: clients.pem");
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

/** Serial number of the certificate that a new connection is shown. */
async function shownBy(address: { readonly host: string; readonly port: number }): Promise<string> {
  const socket = connect({ ...address, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

it("takes over a renewed certificate without a restart, once key and certificate fit", async () => {
  const { program, http, grpc } = await serve();
  const [old, renewed] = [AUTHORITY, RENEWED].map(
    ({ server }) => new X509Certificate(server.cert).serialNumber,
  );
  expect([await shownBy(http), await shownBy(grpc)]).toEqual([old, old]);
  write("key.pem", RENEWED.server.key);
  await program.seen(/certificate and key cannot be used.*old one stays/);
  expect([await shownBy(http), await shownBy(grpc)]).toEqual([old, old]);
  write("cert.pem", RENEWED.server.cert);
  await program.seen("the configuration was read again");
  expect([await shownBy(http), await shownBy(grpc)]).toEqual([renewed, renewed]);
  expect(JSON.stringify(program.log())).not.toContain("take a restart");
});
