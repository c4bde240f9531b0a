/** What callers see of a hot reload, beyond what serve.test.ts shows. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createHttpClient, textOf } from "../support/http-client.js";
import { createWorkplace, type Program, type Workplace } from "../support/program.js";
import { WIRES, type WireAddresses } from "../support/wires/index.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let workplace: Workplace;
beforeEach(() => {
  workplace = createWorkplace();
});
afterEach(() => workplace.close());

function write(name: string, content: string): void {
  writeFileSync(join(workplace.directory, name), content);
}

/** Works until the file `release` is there. */
const AGENT = `
import { existsSync } from "node:fs";
import { defineAgent, working } from "switchyard/agent";
export default defineAgent({
  card: { name: "Patient", description: "d" },
  async *answer() {
    yield "started";
    while (!existsSync("release")) await new Promise((resolve) => setTimeout(resolve, 20));
    return "done";
  },
});
`;

async function serve(): Promise<Program & { readonly url: string; readonly addresses: WireAddresses }> {
  const program = await workplace.serve();
  const [, port] = await program.seen(/gRPC +127\.0\.0\.1:(\d+)/);
  const host = "127.0.0.1";
  const http = { host, port: Number(new URL(program.url).port) };
  return { ...program, addresses: { http, grpc: { host, port: Number(port) } } };
}

/** Reads the configuration again and waits until the log says this, which it has not said since. The watch over files may be first. */
async function reload(program: Program, saying: string | RegExp = "was read again"): Promise<void> {
  const before = program.log().length;
  program.child.kill("SIGHUP");
  await vi.waitFor(
    () =>
      expect(
        program
          .log()
          .slice(before)
          .map((line) => JSON.stringify(line))
          .join("\n"),
      ).toMatch(saying),
    { timeout: 20_000, interval: 20 },
  );
}

function helloTo(tenant: string) {
  return { tenant, message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "x" }] } };
}

it("an agent that is removed ends its work, and nobody finds it any more, on any wire", async () => {
  write("patient.mjs", AGENT);
  write("switchyard.yaml", "store: memory\nagents: [{ }, { tenant: old, file: patient.mjs }]");
  const program = await serve();
  const streams = await Promise.all(
    WIRES.map(async (wire) => {
      const client = wire.connect(program.addresses);
      const stream = client.stream("SendStreamingMessage", helloTo("old"));
      expect((await stream.next()).kind, wire.name).toBe("event");
      return { wire, client, stream };
    }),
  );
  write("switchyard.yaml", "store: memory\nagents: [{ }, { tenant: new }]");
  await reload(program, '"tenants":["","new"]');

  for (const { wire, client } of streams) {
    const gone = {
      kind: "error",
      error: { code: "NOT_FOUND", message: "There is no agent at this tenant." },
    };
    expect(await client.call("SendMessage", helloTo("old")), wire.name).toMatchObject(gone);
    expect(await client.call("ListTasks", { tenant: "old" }), wire.name).toMatchObject(gone);
    expect(await client.call("SendMessage", helloTo("new")), wire.name).toMatchObject({ kind: "ok" });
  }
  expect((await page(program, "/old/.well-known/agent-card.json")).status).toBe(404);
  expect((await page(program, "/new/.well-known/agent-card.json")).status).toBe(200);
  const rpc = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
  expect((await fetch(`${program.url}/old`, rpc)).status, "no JSON-RPC at its address").toBe(404);

  write("release", "");
  for (const { wire, client, stream } of streams) {
    const kinds: string[] = [];
    do kinds.push((await stream.next()).kind);
    while (kinds.at(-1) === "event");
    expect(kinds.at(-1), wire.name).toBe("end");
    await client.close();
  }
});

it("cards have a new ETag and time when they change, and keep both when they do not", async () => {
  const agents = (description: string) =>
    `store: memory\nagents: [{ }, { tenant: t, card: { description: ${description} } }]`;
  write("switchyard.yaml", agents("first"));
  const program = await serve();
  const paths = [
    "/.well-known/agent-card.json",
    "/t/.well-known/agent-card.json",
    "/.well-known/agent-cards.json",
  ];
  const stamps = async () =>
    Promise.all(
      paths.map(async (path) => {
        const { headers } = await page(program, path);
        return { etag: String(headers.etag), modified: String(headers["last-modified"]) };
      }),
    );
  const [own, other, catalogue] = await stamps();
  // Last-Modified counts seconds.
  await new Promise((resolve) => setTimeout(resolve, 1_100));

  await reload(program);
  expect(await stamps()).toEqual([own, other, catalogue]);
  write("switchyard.yaml", agents("second"));
  await vi.waitFor(
    async () => {
      await reload(program);
      expect((await page(program, "/t/.well-known/agent-card.json")).text).toContain("second");
    },
    { timeout: 20_000, interval: 20 },
  );
  const [ownAfter, otherAfter, catalogueAfter] = await stamps();
  expect(ownAfter).toEqual(own);
  for (const [before, after] of [
    [other, otherAfter],
    [catalogue, catalogueAfter],
  ]) {
    expect(after?.etag).not.toBe(before?.etag);
    expect(Date.parse(after?.modified ?? "")).toBeGreaterThan(Date.parse(before?.modified ?? ""));
  }
  const known = await page(program, "/t/.well-known/agent-card.json", {
    "if-none-match": String(otherAfter?.etag),
  });
  expect(known.status).toBe(304);
  const stale = await page(program, "/t/.well-known/agent-card.json", {
    "if-none-match": String(other?.etag),
  });
  expect([stale.status, stale.text.includes("second")]).toEqual([200, true]);
});

it("goes on with the last good configuration when the file is gone, broken or names an agent that does not load", async () => {
  write("switchyard.yaml", "store: memory\nagents: [{ card: { name: Good } }]");
  const program = await serve();
  write("switchyard.yaml", "store: memory\nagents: [{ file: none.mjs }]");
  await reload(program, /problems.*none\.mjs: there is no such file\./);
  write("switchyard.yaml", "agents: [");
  await reload(program, /problems.*switchyard\.yaml:\d/);
  write("bad.mjs", "throw new Error('no luck');");
  write("switchyard.yaml", "store: memory\nagents: [{ file: bad.mjs }]");
  await reload(program, /problems.*no luck/);
  expect((await page(program, "/.well-known/agent-card.json")).text).toContain('"Good"');
  rmSync(join(workplace.directory, "switchyard.yaml"));
  await reload(program, /problems.*switchyard\.yaml: there is no such file\./);
  expect((await page(program, "/.well-known/agent-card.json")).text).toContain('"Good"');
});

async function page(program: { readonly addresses: WireAddresses }, path: string, headers = {}) {
  const http = createHttpClient(program.addresses.http, 1);
  try {
    const answer = await http.ask({ method: "GET", path, headers });
    return { status: answer.status, headers: answer.headers, text: await textOf(answer) };
  } finally {
    await http.close();
  }
}
