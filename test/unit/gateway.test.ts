import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createGateway } from "../../src/gateway.js";
import { createMemoryStore } from "../../src/stores/index.js";
import { startGateway } from "../support/gateway.js";
import { createHttpClient, textOf } from "../support/http-client.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import { WIRES } from "../support/wires/index.js";

const SCRIPTS = { work: [{ status: "WORKING" }, { gate: "go" }, { done: "COMPLETED" }] } as const;

function messageOf(text: string) {
  return { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } };
}

it("takes no call before it has taken up what was left, and says so", async () => {
  let recover: () => void = () => undefined;
  const looking = new Promise<void>((resolve) => {
    recover = resolve;
  });
  const store = createMemoryStore();
  const unfinished: typeof store.unfinished = async (...args) => {
    await looking;
    return store.unfinished(...args);
  };
  const at = { host: "127.0.0.1", port: 0 };
  const gateway = await createGateway({
    agents: [{ agent: createScriptedAgent(SCRIPTS) }],
    store: { ...store, unfinished },
    http: at,
    grpc: at,
  });
  onTestFinished(() => gateway.close());
  const started = gateway.start();
  let addresses = (await gateway.status()).addresses;
  while (addresses?.http === undefined || addresses.grpc === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    addresses = (await gateway.status()).addresses;
  }
  const { http, grpc } = addresses;
  const ready = createHttpClient(http, 1);
  onTestFinished(() => ready.close());
  const status = async () => {
    const answer = await ready.ask({ method: "GET", path: "/readyz" });
    await textOf(answer);
    return answer.status;
  };
  expect(await status()).toBe(503);
  for (const wire of WIRES) {
    const client = wire.connect({ http, grpc });
    const answer = await client.call("ListTasks", {});
    expect(answer, wire.name).toMatchObject({
      error: { code: "UNAVAILABLE", message: "The gateway is starting." },
    });
    await client.close();
  }
  recover();
  await started;
  expect(await status()).toBe(200);
  for (const wire of WIRES) {
    const client = wire.connect({ http, grpc });
    expect(await client.call("ListTasks", {}), wire.name).toMatchObject({ kind: "ok" });
    await client.close();
  }
});

it("refuses new calls while it drains in a server of one's own, and says that it is not ready", async () => {
  const agent = createScriptedAgent(SCRIPTS);
  const gateway = await createGateway({
    agents: [{ agent }],
    http: false,
    grpc: false,
    store: { kind: "memory" },
    drainMs: 20_000,
  });
  await gateway.start();
  const server = createServer(gateway.serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    await gateway.close();
    server.closeAllConnections();
    server.close();
  });
  const http = createHttpClient({ host: "127.0.0.1", port: (server.address() as AddressInfo).port }, 1);
  onTestFinished(() => http.close());
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  const send = async () => {
    const answer = await http.ask({
      method: "POST",
      path: "/message:send",
      headers,
      body: JSON.stringify(messageOf("work")),
    });
    return { status: answer.status, text: await textOf(answer) };
  };
  const first = send();
  await agent.gates.reached("go");
  const drained = gateway.drain();
  expect((await http.ask({ method: "GET", path: "/readyz" })).status).toBe(503);
  const refused = await send();
  expect([refused.status, refused.text.includes("The gateway is shutting down.")]).toEqual([503, true]);
  agent.gates.open("go");
  expect((await first).text).toContain("TASK_STATE_COMPLETED");
  await drained;
});

it("closes at once, also while it drains", async () => {
  const agent = createScriptedAgent(SCRIPTS);
  const { gateway, ...addresses } = await startGateway({ agents: [{ agent }], drainMs: 60_000 });
  const clients = WIRES.map((wire) => wire.connect(addresses));
  onTestFinished(async () => {
    for (const client of clients) await client.close();
  });
  const streams = clients.map((client) => client.stream("SendStreamingMessage", messageOf("work")));
  for (const stream of streams) expect((await stream.next()).kind).toBe("event");
  const drained = gateway.drain();
  const at = Date.now();
  await gateway.close();
  await drained;
  expect(Date.now() - at).toBeLessThan(5_000);
  expect(await gateway.status()).toMatchObject({ state: "stopped", tasks: {}, runs: 0, openStreams: 0 });
});

it.each([0, 301, Number.NaN])("does not take limits.depth %s", async (depth) => {
  const made = createGateway({ agents: [], store: { kind: "memory" }, limits: { depth } });
  await expect(made).rejects.toThrow(RangeError);
});
