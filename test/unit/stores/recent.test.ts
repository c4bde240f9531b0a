import { describe, expect, it } from "vitest";
import { createRecentTasks } from "../../../src/stores/sqlite/recent.js";

const task = (bytes: number, scope = 1) => ({ scope, seq: 2, number: 2, binary: new Uint8Array(bytes) });

describe("tasks that were read a moment ago", () => {
  it("are found by scope and id until they are forgotten", () => {
    const recent = createRecentTasks();
    const kept = task(10);
    recent.keep("a", kept);
    expect(recent.get(1, "a")).toBe(kept);
    expect(recent.get(2, "a")).toBeUndefined();
    recent.forget("a");
    recent.forget("unknown");
    expect(recent.get(1, "a")).toBeUndefined();
  });

  it("are at most 1 024: the one read first goes", () => {
    const recent = createRecentTasks();
    for (let index = 0; index <= 1024; index += 1) recent.keep(String(index), task(1));
    expect(recent.get(1, "0")).toBeUndefined();
    expect(recent.get(1, "1")).toBeDefined();
    expect(recent.get(1, "1024")).toBeDefined();
  });

  it("are at most 8 MiB, and none is larger than 64 KiB", () => {
    const recent = createRecentTasks();
    for (let index = 0; index <= 128; index += 1) recent.keep(String(index), task(65_536));
    recent.keep("large", task(65_537));
    expect(["0", "1", "128", "large"].map((id) => recent.get(1, id) !== undefined)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it("count once, however often they are read", () => {
    const recent = createRecentTasks();
    recent.keep("other", task(1));
    for (let index = 0; index < 200; index += 1) recent.keep("a", task(65_536));
    expect(recent.get(1, "other")).toBeDefined();
  });
});
