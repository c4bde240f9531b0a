/** SIGTERM to a real gateway, seen from every wire. */
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Serving } from "../../gen/grpc/health/v1/health_pb.js";
import { createHttpClient, type HttpAddress, textOf } from "../support/http-client.js";
import { createWorkplace, getTask, type Program, send, type Workplace } from "../support/program.js";
import { type Step, WIRES, type Wire, type WireAddresses, type WireClient } from "../support/wires/index.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let workplace: Workplace;
let clients: { close(): unknown }[];
beforeEach(() => {
  workplace = createWorkplace();
  clients = [];
});
afterEach(async () => {
  for (const client of clients) await client.close();
  await workplace.close();
});

/** Long enough for everything that the first test looks at meanwhile. */
const DRAIN_MS = 5_000;

/** `tick` reports something all the time; `wait` never ends, nor does `deaf`, which takes no notice of its signal. */
const AGENT = `
import { defineAgent, working } from "switchyard/agent";
const tick = (signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 50);
  signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});
async function* work(text, signal) {
  yield "started";
  while (text === "deaf") await new Promise((resolve) => setTimeout(resolve, 1_000));
  for (;;) {
    await tick(signal);
    if (text === "tick") yield working("tick");
  }
}
export default defineAgent({
  card: { name: "Slow", description: "d" },
  answer: (turn, signal) => work(turn.message.parts[0].content.value, signal),
  RESUME
});
`;

interface Served {
  readonly program: Program & { readonly url: string };
  readonly addresses: WireAddresses;
}

async function serve(resume = ""): Promise<Served> {
  writeFileSync(join(workplace.directory, "slow.mjs"), AGENT.replace("RESUME", resume));
  const program = await workplace.serve(["--agent", "slow.mjs", "--set", `drainMs=${DRAIN_MS}`]);
  const [, port] = await program.seen(/gRPC +127\.0\.0\.1:(\d+)/);
  const host = "127.0.0.1";
  const http = { host, port: Number(new URL(program.url).port) };
  return { program, addresses: { http, grpc: { host, port: Number(port) } } };
}

function connect(wire: Wire, addresses: WireAddresses): WireClient {
  const client = wire.connect(addresses);
  clients.push(client);
  return client;
}

function messageOf(text: string) {
  return { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } };
}

const SHUTTING_DOWN = { code: "UNAVAILABLE", message: "The gateway is shutting down." };

/** Tries again until nothing is thrown; the machine may be slow. */
function until(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 20_000, interval: 50 });
}

async function page({ host, port }: HttpAddress, path: string) {
  const http = createHttpClient({ host, port }, 1);
  try {
    const answer = await http.ask({ method: "GET", path });
    return { status: answer.status, text: await textOf(answer), connection: answer.headers.connection };
  } finally {
    await http.close();
  }
}

function healthOf({ host, port }: HttpAddress) {
  return createClient(Health, createGrpcTransport({ baseUrl: `http://${host}:${port}` }));
}

/** A stream that is read to its end, and when that was. */
async function follow(client: WireClient) {
  const stream = client.stream("SendStreamingMessage", messageOf("tick"));
  const first = await stream.next();
  expect(first.kind).toBe("event");
  const rest = async () => {
    const steps: { readonly step: Step; readonly at: number }[] = [];
    do steps.push({ step: await stream.next(), at: Date.now() });
    while (steps.at(-1)?.step.kind === "event");
    return steps;
  };
  return rest();
}

describe("SIGTERM", () => {
  it("is told on every wire: new calls are refused, open ones have their time and then hear why, and all is recorded", async () => {
    const { program, addresses } = await serve();
    const open = await Promise.all(
      WIRES.map(async (wire) => {
        const client = connect(wire, addresses);
        const blocked = client.call("SendMessage", messageOf("wait"));
        return { wire, blocked, stream: follow(client) };
      }),
    );
    const idle = connectTcp(addresses.http).on("error", () => undefined);
    await once(idle, "connect");
    await until(async () => {
      const { tasks } = JSON.parse((await page(addresses.http, "/tasks?A2A-Version=1.0")).text) as {
        tasks: unknown[];
      };
      expect(tasks).toHaveLength(2 * WIRES.length);
    });

    const at = Date.now();
    program.child.kill("SIGTERM");
    await program.seen('"msg":"stopping"');

    expect(await page(addresses.http, "/readyz")).toEqual({
      status: 503,
      text: '{"status":"draining"}',
      connection: "close",
    });
    expect((await page(addresses.http, "/healthz")).status).toBe(200);
    for (const address of [addresses.http, addresses.grpc]) {
      expect((await healthOf(address).check({})).status).toBe(Serving.NOT_SERVING);
    }
    await Promise.all(
      WIRES.map(async (wire) => {
        const client = connect(wire, addresses);
        const answer = await client.call("SendMessage", messageOf("wait"));
        expect(answer, wire.name).toMatchObject({ kind: "error", error: SHUTTING_DOWN });
        const stream = connect(wire, addresses).stream("SendStreamingMessage", messageOf("tick"));
        const step = await stream.next();
        expect(step, wire.name).toMatchObject({ kind: "error", first: true, error: SHUTTING_DOWN });
      }),
    );
    const refusedBy = Date.now();
    expect(refusedBy - at, "the machine is too slow for this test").toBeLessThan(DRAIN_MS);

    for (const { wire, blocked, stream } of open) {
      const steps = await stream;
      expect(steps.at(-1)?.step, wire.name).toMatchObject({
        kind: "error",
        first: false,
        error: SHUTTING_DOWN,
      });
      expect(steps.at(-2)?.at, wire.name).toBeGreaterThan(refusedBy);
      expect(Number(steps.at(-1)?.at) - at, wire.name).toBeGreaterThanOrEqual(DRAIN_MS - 100);
      expect(await blocked, wire.name).toMatchObject({ kind: "error", error: SHUTTING_DOWN });
    }
    expect((await program.ended).code).toBe(0);
    expect(Date.now() - at).toBeLessThan(DRAIN_MS + 3_000);

    const again = await workplace.serve(["--agent", "slow.mjs"]);
    const { host, port } = { host: "127.0.0.1", port: Number(new URL(again.url).port) };
    const text = "The gateway was stopped while this task was running.";
    const list = await page({ host, port }, "/tasks?A2A-Version=1.0&pageSize=100");
    const { tasks } = JSON.parse(list.text) as { tasks: { status: object }[] };
    expect(tasks).toHaveLength(2 * WIRES.length);
    for (const task of tasks) {
      expect(task.status).toMatchObject({ state: "TASK_STATE_FAILED", message: { parts: [{ text }] } });
    }
  });

  it("does not wait for connections that are kept alive, half open or only watch", async () => {
    const { program, addresses } = await serve();
    const kept = createHttpClient(addresses.http, 1);
    const session = createHttpClient(addresses.http, 2);
    clients.push(kept, session);
    for (const http of [kept, session]) await textOf(await http.ask({ method: "GET", path: "/healthz" }));
    const grpc = connectHttp2(`http://127.0.0.1:${addresses.grpc.port}`).on("error", () => undefined);
    await once(grpc, "remoteSettings");
    const raw = [addresses.http, addresses.grpc].map((to) => connectTcp(to).on("error", () => undefined));
    for (const socket of raw) await once(socket, "connect");
    raw[0]?.write("POST /message:send HTTP/1.1\r\nhost:");
    const watches = [addresses.http, addresses.grpc].map((address) => healthOf(address).watch({}));
    const seen = watches.map(async (watch) => {
      const statuses: Serving[] = [];
      try {
        for await (const { status } of watch) {
          statuses.push(status);
          if (statuses.length === 1) seenFirst();
        }
      } catch {
        // Ends with the gateway.
      }
      return statuses;
    });
    let first = 0;
    let bothSeen: () => void = () => undefined;
    const watching = new Promise<void>((resolve) => {
      bothSeen = resolve;
    });
    function seenFirst(): void {
      first += 1;
      if (first === 2) bothSeen();
    }
    await watching;
    const at = Date.now();
    program.child.kill("SIGTERM");
    expect((await program.ended).code).toBe(0);
    expect(Date.now() - at).toBeLessThan(DRAIN_MS - 200);
    for (const statuses of await Promise.all(seen))
      expect(statuses).toEqual([Serving.SERVING, Serving.NOT_SERVING]);
    for (const socket of raw) socket.destroy();
    grpc.destroy();
  });

  it("says GOAWAY on both ports and lets the streams there go on", async () => {
    const { program, addresses } = await serve();
    const opened = await Promise.all(
      [addresses.http, addresses.grpc].map(async ({ port }) => {
        const session = connectHttp2(`http://127.0.0.1:${port}`).on("error", () => undefined);
        const stream = session.request({
          ":method": "POST",
          ":path": "/grpc.health.v1.Health/Check",
          "content-type": "application/grpc",
          te: "trailers",
        });
        await once(stream, "ready");
        return { session, stream, goaway: once(session, "goaway") };
      }),
    );
    await once(opened[0]?.session ?? expect.fail(), "remoteSettings");
    await new Promise((resolve) => setTimeout(resolve, 50));
    program.child.kill("SIGTERM");
    for (const { goaway, stream } of opened) {
      expect((await goaway)[0]).toBe(0);
      expect(stream.closed).toBe(false);
      stream.on("error", () => undefined).end(Buffer.from([0, 0, 0, 0, 0]));
      const [trailers] = (await once(stream.resume(), "trailers")) as [Record<string, string>];
      expect(trailers["grpc-status"]).toBe("0");
    }
    expect((await program.ended).code).toBe(0);
    for (const { session } of opened) session.destroy();
  });

  it("leaves the task of an agent that resumes to the next gateway, and drops one that stops for nobody", async () => {
    const resume = "resume: (turn) => 'taken up again',";
    const { program } = await serve(resume);
    const { task } = await send(program.url, "deaf", { returnImmediately: true });
    const at = Date.now();
    program.child.kill("SIGTERM");
    expect((await program.ended).code).toBe(0);
    // An agent has cancelGraceMs (3 s) to stop.
    expect(Date.now() - at).toBeLessThan(5_000);
    const again = await workplace.serve(["--agent", "slow.mjs"]);
    await until(async () => {
      expect((await getTask(again.url, String(task?.id))).status).toMatchObject({
        state: "TASK_STATE_COMPLETED",
        message: { parts: [{ text: "taken up again" }] },
      });
    });
  });

  it("ends at once with the second", async () => {
    const { program, addresses } = await serve();
    const [wire] = WIRES;
    const stream = follow(connect(wire ?? expect.fail(), addresses)).catch(() => undefined);
    await until(async () =>
      expect((await page(addresses.http, "/tasks?A2A-Version=1.0")).text).toContain("WORKING"),
    );
    program.child.kill("SIGTERM");
    await program.seen('"msg":"stopping"');
    const at = Date.now();
    program.child.kill("SIGINT");
    expect((await program.ended).code).toBe(130);
    expect(Date.now() - at).toBeLessThan(1_000);
    await stream;
    expect(existsSync(join(workplace.directory, ".switchyard/switchyard.db"))).toBe(true);
  });
});
