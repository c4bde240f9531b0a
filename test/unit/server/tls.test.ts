/** TLS on both ports, with and without certificates of clients. */
import { once } from "node:events";
import { connect as netConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ServerTls } from "../../../src/server/tls.js";
import { createAuthority } from "../../support/certificates.js";
import { startGateway, type TestGateway } from "../../support/gateway.js";
import { type ClientTls, createHttpClient, type HttpAddress, textOf } from "../../support/http-client.js";
import { createScriptedAgent, type ScriptedAgent } from "../../support/scripted-agent.js";
import { WIRES, type WireAddresses } from "../../support/wires/index.js";

const AUTHORITY = createAuthority("ours");
const STRANGER = createAuthority("theirs");
const ANYBODY: ClientTls = { ca: AUTHORITY.cert };
const KNOWN: ClientTls = { ca: AUTHORITY.cert, ...AUTHORITY.client };

let gateway: TestGateway;
let agent: ScriptedAgent;

function serve(tls: ServerTls): void {
  beforeAll(async () => {
    agent = createScriptedAgent({ hello: [{ status: "WORKING" }, { done: "COMPLETED" }] });
    gateway = await startGateway({ agents: [{ agent }], tls });
  });
  afterAll(() => gateway.close());
}

function over(tls: ClientTls): WireAddresses {
  return { http: { ...gateway.http, tls }, grpc: { ...gateway.grpc, tls } };
}

function helloOf(messageId: string) {
  return { message: { messageId, role: "ROLE_USER", parts: [{ text: "hello" }] } };
}

async function talk(wire: (typeof WIRES)[number], addresses: WireAddresses) {
  const client = wire.connect(addresses);
  try {
    const answer = await client.call("SendMessage", helloOf(`call ${wire.name}`));
    const stream = client.stream("SendStreamingMessage", helloOf(`stream ${wire.name}`));
    const steps = [];
    do steps.push(await stream.next());
    while (steps.at(-1)?.kind === "event");
    return { answer: answer.kind, steps: steps.map(({ kind }) => kind) };
  } finally {
    await client.close();
  }
}

const ANSWERED = { answer: "ok", steps: ["event", "event", "event", "end"] };

describe("TLS on both ports", () => {
  serve(AUTHORITY.server);

  it.each(WIRES)("$name: calls and streams", async (wire) => {
    expect(await talk(wire, over(ANYBODY))).toEqual(ANSWERED);
  });

  it.each([
    ["http", ["h2"], "h2"],
    ["http", ["http/1.1"], "http/1.1"],
    ["http", ["http/1.1", "h2"], "h2"],
    ["http", undefined, false],
    ["grpc", ["h2"], "h2"],
  ] as const)("the %s port agrees with a client that offers %j on %s", async (port, offered, agreed) => {
    const { host, port: number } = gateway[port];
    const ALPNProtocols = offered && [...offered];
    const socket = tlsConnect({
      host,
      port: number,
      ca: AUTHORITY.cert,
      ...(ALPNProtocols && { ALPNProtocols }),
    });
    await once(socket, "secureConnect");
    expect(socket.alpnProtocol).toBe(agreed);
    expect(socket.getProtocol()).toBe("TLSv1.3");
    socket.destroy();
  });

  it.each(["http", "grpc"] as const)(
    "the %s port closes cleartext connections without a word",
    async (port) => {
      const socket = netConnect(gateway[port]);
      let received = "";
      socket.setEncoding("latin1").on("data", (text: string) => {
        received += text;
      });
      socket.on("error", () => undefined); // a reset is as good as a FIN
      socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      await once(socket, "close");
      expect(received).not.toContain("HTTP/1.1");
    },
  );

  it.each([1, 2] as const)("cards say https, HTTP/%i", async (version) => {
    const card = await cardOver({ ...gateway.http, tls: ANYBODY }, version);
    const base = `https://127.0.0.1:${gateway.http.port}`;
    const urls = new Map(card.supportedInterfaces.map((each) => [each.protocolBinding, each.url]));
    expect(urls.get("JSONRPC")).toBe(base);
    expect(urls.get("HTTP+JSON")).toBe(base);
    expect(urls.get("GRPC")).toBe(`127.0.0.1:${gateway.grpc.port}`);
  });
});

describe("certificates of clients", () => {
  serve({ ...AUTHORITY.server, clientCa: AUTHORITY.cert });

  it.each(WIRES)("$name: answers a client that shows one", async (wire) => {
    expect(await talk(wire, over(KNOWN))).toEqual(ANSWERED);
  });

  it.each([
    ["none", ANYBODY],
    ["one of another authority", { ...ANYBODY, ...STRANGER.client }],
    ["one that is not for clients", { ...ANYBODY, ...AUTHORITY.server }],
  ])("a client that shows %s gets no answer on either port", async (_, tls) => {
    const before = agent.record.turns.length;
    for (const wire of WIRES) {
      const outcome = await talk(wire, over(tls)).catch(() => "no connection");
      expect(["no connection", { answer: "error", steps: ["error"] }], wire.name).toContainEqual(outcome);
    }
    expect(agent.record.turns).toHaveLength(before);
  });
});

describe("renewing", () => {
  serve(AUTHORITY.server);

  /** Serial number of the certificate that a new connection is shown. */
  async function serial(port: "http" | "grpc"): Promise<string> {
    const { host, port: number } = gateway[port];
    const socket = tlsConnect({ host, port: number, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    await once(socket, "secureConnect");
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  }

  it("gives new connections the new certificate on both ports, and keeps open ones", async () => {
    const before = await serial("http");
    const http = createHttpClient({ ...gateway.http, tls: ANYBODY }, 1);
    const ask = async () => textOf(await http.ask({ method: "GET", path: "/healthz" }));
    await ask();
    gateway.gateway.renewTls(STRANGER.server);
    const after = await serial("http");
    expect(after).not.toBe(before);
    expect(await serial("grpc")).toBe(after);
    expect(await ask()).toContain("healthy");
    await http.close();
  });

  it("keeps what it has when certificate and key do not fit", async () => {
    const before = await serial("http");
    const { cert } = AUTHORITY.server;
    expect(() => gateway.gateway.renewTls({ cert, key: STRANGER.server.key })).toThrow(/key/);
    expect([await serial("http"), await serial("grpc")]).toEqual([before, before]);
  });
});

interface Card {
  readonly supportedInterfaces: readonly { readonly protocolBinding: string; readonly url: string }[];
}

async function cardOver(address: HttpAddress, version: 1 | 2): Promise<Card> {
  const http = createHttpClient(address, version);
  try {
    const answer = await http.ask({ method: "GET", path: "/.well-known/agent-card.json" });
    expect(answer.status).toBe(200);
    return JSON.parse(await textOf(answer)) as Card;
  } finally {
    await http.close();
  }
}
