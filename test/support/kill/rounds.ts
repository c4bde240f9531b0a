import assert from "node:assert/strict";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createDeferred } from "../../../src/core/async.js";
import { createWorkplace, type Program, type Workplace } from "../program.js";
import { createRandom, type Random } from "../random.js";
import { WIRES, type Wire, type WireAddresses, type WireClient } from "../wires/index.js";
import { createLedger, isTerminal, type KnownTask, type Ledger } from "./ledger.js";
import { sendAgain, takeUp, totalOf, verifyTask } from "./verify.js";
import { type Estate, visit } from "./visitor.js";

/** How long callers may take to notice that the gateway is gone. */
const NOTICE_MS = 10_000;
const VISITORS = 6;
/** Most things that the clients of a round do, all together. */
const MOST_ACTS = 100;
/** Most time from the last of them to the kill, so that it comes in the middle of something. */
const MOST_DELAY_MS = 40;
/** Tasks of earlier rounds that are looked at again after a kill. */
const SAMPLE = 20;
/** Tasks that are verified at the same time. */
const AT_ONCE = 8;
const AGENTS = ["agent.mjs", "lasting.mjs"];
const CONFIG = `
log: error
adminSocket: off
agents:
  - file: agent.mjs
  - file: lasting.mjs
    tenant: lasting
`;

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** Told after each kill. */
  readonly onKill?: (toll: KillToll) => void;
}

/** What the kills hit. */
export interface KillToll {
  readonly kills: number;
  readonly tasks: number;
  readonly cutStreams: number;
  readonly openSends: number;
}

/** What a client left behind, and the wire that it used. */
interface Left {
  readonly wire: Wire;
  readonly estate: Estate;
}

/**
 * Serves, lets clients live on several wires, kills the process at a random point, serves again on the same store,
 * and holds what is there against what clients were told; so many times.
 */
export async function killRounds({ kills, seed, onKill }: KillOptions): Promise<KillToll> {
  const workplace = createWorkplace();
  const random = createRandom(seed);
  const ledger = createLedger();
  try {
    furnish(workplace);
    let left: readonly Left[] = [];
    let toll: KillToll = { kills: 0, tasks: 0, cutStreams: 0, openSends: 0 };
    for (let round = 0; round < kills; round += 1) {
      const gateway = await serve(workplace);
      await verify(gateway.addresses, ledger, left, random);
      left = await liveUntilKilled(gateway, { ledger, random, round });
      toll = add(toll, left, ledger);
      onKill?.(toll);
    }
    const gateway = await serve(workplace);
    await verify(gateway.addresses, ledger, left, random, Number.POSITIVE_INFINITY);
    gateway.program.child.kill("SIGTERM");
    assert.equal((await gateway.program.ended).code, 0, "the gateway stops in order at the end");
    return toll;
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
  } finally {
    await workplace.close();
  }
}

function add({ kills, cutStreams, openSends }: KillToll, left: readonly Left[], ledger: Ledger): KillToll {
  const count = (of: (estate: Estate) => number) => left.reduce((sum, { estate }) => sum + of(estate), 0);
  return {
    kills: kills + 1,
    tasks: ledger.tasks.size,
    cutStreams: cutStreams + count(({ cut }) => cut.length),
    openSends: openSends + count(({ open }) => open.length),
  };
}

function furnish({ directory }: Workplace): void {
  for (const name of AGENTS) {
    copyFileSync(fileURLToPath(new URL(name, import.meta.url)), join(directory, name));
  }
  writeFileSync(join(directory, "switchyard.yaml"), CONFIG);
}

interface Served {
  readonly program: Program;
  readonly addresses: WireAddresses;
}

async function serve(workplace: Workplace): Promise<Served> {
  const program = await workplace.serve();
  const [, grpcPort] = await program.seen(/^ {2}gRPC +127\.0\.0\.1:(\d+)/m);
  const { hostname: host, port } = new URL(program.url);
  return {
    program,
    addresses: { http: { host, port: Number(port) }, grpc: { host, port: Number(grpcPort) } },
  };
}

interface Life {
  readonly ledger: Ledger;
  readonly random: Random;
  readonly round: number;
}

async function liveUntilKilled({ program, addresses }: Served, life: Life): Promise<readonly Left[]> {
  const { ledger, random, round } = life;
  const killing = new AbortController();
  const enough = createDeferred<void>();
  let acts = 1 + random.below(MOST_ACTS);
  const onAct = () => {
    acts -= 1;
    if (acts === 0) enough.resolve();
  };
  const visits = Array.from({ length: VISITORS }, async (_, index): Promise<Left> => {
    const wire = WIRES[(round * VISITORS + index) % WIRES.length] as Wire;
    const client = wire.connect(addresses);
    const options = { client, ledger, random, name: `${round}.${index}`, killed: killing.signal, onAct };
    const estate = await visit(options);
    await client.close();
    return { wire, estate };
  });
  const lives = Promise.all(visits);
  const failed = lives.then(
    () => undefined,
    (error: unknown) => error,
  );
  await Promise.race([enough.promise, failed]);
  await delay(random.below(MOST_DELAY_MS));
  killing.abort();
  program.child.kill("SIGKILL");
  await program.ended;
  const late = delay(NOTICE_MS, undefined, { ref: false }).then(() => {
    throw new Error("a caller does not notice that the gateway is gone");
  });
  return await Promise.race([lives, late]);
}

async function verify(
  addresses: WireAddresses,
  ledger: Ledger,
  left: readonly Left[],
  random: Random,
  sample = SAMPLE,
): Promise<void> {
  const clients = new Map(left.map(({ wire }) => [wire, wire.connect(addresses)]));
  const reader = (WIRES[random.below(WIRES.length)] as Wire).connect(addresses);
  // First of all, while agents that take up their work are still at it.
  const resumed = left.flatMap(({ wire, estate }) =>
    estate.cut.map((cut) => takeUp(clients.get(wire) as WireClient, cut)),
  );
  const due = [...tasksToVerify(ledger, random, sample)];
  const verifyNext = async (): Promise<void> => {
    for (let known = due.pop(); known !== undefined; known = due.pop()) {
      const { id } = known;
      await verifyTask(
        reader,
        known,
        resumed.filter(({ from }) => from.taskId === id),
      );
      known.unanswered = false;
      if (isTerminal(known.state)) known.events.clear();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, verifyNext));
  for (const { wire, estate } of left) await sendOpenAgain(clients.get(wire) as WireClient, ledger, estate);
  for (const tenant of ["", "lasting"]) await verifyTotal(reader, ledger, tenant);
  for (const client of [reader, ...clients.values()]) await client.close();
}

/** Those with events are of the last round or still alive; of the others, a few. */
function tasksToVerify(ledger: Ledger, random: Random, sample: number): readonly KnownTask[] {
  const all = [...ledger.tasks.values()];
  const old = all.filter(({ events, state }) => events.size === 0 && isTerminal(state));
  const picked = sample >= old.length ? old : Array.from({ length: sample }, () => random.one(old));
  return [...all.filter((known) => !old.includes(known)), ...new Set(picked)];
}

async function sendOpenAgain(client: WireClient, ledger: Ledger, estate: Estate): Promise<void> {
  for (const send of estate.open) {
    const answer = await sendAgain(client, send);
    if (answer?.task === undefined) continue;
    const { accepted } = ledger.sawTask(send.tenant, answer.task);
    const id = send.message.messageId as string;
    if (!accepted.includes(id)) accepted.push(id);
  }
  for (const { send, messageId } of estate.heard) {
    const answer = await sendAgain(client, send);
    assert.equal(answer?.message?.messageId, messageId, "a repeated message gets the same answer");
  }
}

async function verifyTotal(client: WireClient, ledger: Ledger, tenant: string): Promise<void> {
  const known = [...ledger.tasks.values()].filter((task) => task.tenant === tenant).length;
  const total = await totalOf(client, tenant);
  assert.ok(total >= known, `tenant "${tenant}" has ${total} tasks, but clients were shown ${known}`);
}
