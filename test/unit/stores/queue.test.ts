import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { EncodedWrite } from "../../../src/stores/sqlite/encode.js";
import { createWriteQueue } from "../../../src/stores/sqlite/queue.js";

const write = (taskId: string) => ({ taskId }) as unknown as EncodedWrite;
const idOf = (each: EncodedWrite) => (each as unknown as { taskId: string }).taskId;

it("a write that cannot be written fails alone, the others of its tick are written in their order", async () => {
  const transactions: string[][] = [];
  const queue = createWriteQueue((writes) => {
    const ids = writes.map(idOf);
    if (ids.includes("huge")) throw new Error("too big");
    transactions.push(ids);
    return writes.map(() => ({ kind: "committed" }));
  });
  const settled = await Promise.allSettled(["a", "huge", "b", "c"].map((id) => queue.add(write(id))));
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(transactions).toEqual([["a"], ["b"], ["c"]]);
});

it("a failing disk fails every write of the tick, and the next tick is tried anew", async () => {
  let broken = true;
  const queue = createWriteQueue((writes) => {
    if (broken) throw new Error("disk full");
    return writes.map(() => ({ kind: "committed" }));
  });
  const settled = await Promise.allSettled(["a", "b"].map((id) => queue.add(write(id))));
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  broken = false;
  expect(await queue.add(write("c"))).toEqual({ kind: "committed" });
});

it("the writes of two turns of the event loop share a transaction", async () => {
  const transactions: string[][] = [];
  const queue = createWriteQueue((writes) => {
    transactions.push(writes.map(idOf));
    return writes.map(() => ({ kind: "committed" }));
  });
  const first = queue.add(write("a"));
  await nextTurn();
  await Promise.all([first, queue.add(write("b"))]);
  await queue.add(write("c"));
  expect(transactions).toEqual([["a", "b"], ["c"]]);
});

it("writes that are held back are written in their order afterwards, or at once when flushed", async () => {
  const transactions: string[][] = [];
  const queue = createWriteQueue((writes) => {
    transactions.push(writes.map(idOf));
    return writes.map(() => ({ kind: "committed" }));
  });
  queue.hold(true);
  const first = ["a", "b"].map((id) => queue.add(write(id)));
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(transactions).toEqual([]);
  queue.hold(false);
  await Promise.all(first);
  const late = queue.add(write("c"));
  queue.hold(true);
  await nextTurn();
  queue.flush();
  expect(await late).toEqual({ kind: "committed" });
  expect(transactions).toEqual([["a", "b"], ["c"]]);
});

it("who writes beside the queue waits until writes are no longer held back", async () => {
  const queue = createWriteQueue((writes) => writes.map(() => ({ kind: "committed" })));
  await queue.free();
  queue.hold(true);
  let free = false;
  const waiting = queue.free().then(() => {
    free = true;
  });
  queue.hold(false);
  queue.hold(true);
  await nextTurn();
  expect(free).toBe(false);
  queue.hold(false);
  await waiting;
});
