import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Groups, type Place, Registry, Roster } from "../../../src/protocol/registry.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

describe("a registry", () => {
  it("is a map", () => {
    const registry = new Registry<string, { readonly name: string }>();
    const [a, b, c] = ["a", "b", "c"].map((name) => ({ name })) as [
      { name: string },
      { name: string },
      { name: string },
    ];
    registry.set("1", a);
    registry.set("2", b);
    registry.set("1", c);
    expect([registry.get("1"), registry.get("2"), registry.get("3")]).toEqual([c, b, undefined]);
    expect([registry.has("1"), registry.has("3"), registry.size]).toEqual([true, false, 2]);
    const before = registry.values();
    registry.delete("1");
    registry.delete("3");
    expect(before).toEqual([c, b]);
    expect(registry.values()).toEqual([b]);
    expect([registry.get("1"), registry.size]).toEqual([undefined, 1]);
  });

  /** Kilobytes that young collections leave behind after 4 000 values of 8 KB each have come and gone, 32 at a time. */
  function leftBehind(map: {
    set(key: number, value: object): unknown;
    delete(key: number): unknown;
  }): number {
    for (let key = 0; key < 32; key += 1) map.set(key, new Array(1000).fill(key));
    collect(); // the table grows old
    const before = process.memoryUsage().heapUsed;
    for (let key = 32; key < 4032; key += 1) {
      map.delete(key - 32);
      map.set(key, new Array(1000).fill(key));
    }
    collect({ type: "minor" });
    return (process.memoryUsage().heapUsed - before) / 1024;
  }

  it("leaves nothing to a full collection that a young one could take", () => {
    expect(leftBehind(new Registry<number, object>())).toBeLessThan(4_000);
    // Should this fail, V8 has mended its maps, and a registry is no longer needed.
    expect(leftBehind(new Map())).toBeGreaterThan(8_000);
  });
});

describe("a roster", () => {
  it("lists who came and has not left", () => {
    const roster = new Roster<{ readonly name: string }>();
    const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }] as const;
    const places = [a, b, c, a].map((member) => roster.add(member)) as [Place, Place, Place, Place];
    expect([roster.members(), roster.size]).toEqual([[a, b, c, a], 4]);
    roster.remove(places[1]);
    roster.remove(places[1]);
    expect(new Set(roster.members())).toEqual(new Set([a, c]));
    roster.remove(places[3]);
    roster.remove(places[0]);
    expect([roster.members(), roster.size]).toEqual([[c], 1]);
    const late = roster.add(b);
    roster.remove(places[2]);
    roster.remove(late);
    roster.remove(places[0]);
    expect(roster.size).toBe(0);
  });
});

describe("groups", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ name })) as [object, object, object];

  it("know who is at which key", () => {
    const groups = new Groups<object>();
    groups.add("x", a);
    groups.add("x", a);
    groups.add("y", a);
    expect([groups.of("x"), groups.of("y"), groups.of("z"), groups.size]).toEqual([[a], [a], [], 2]);
    groups.add("x", b);
    groups.add("x", b);
    groups.add("x", c);
    const before = groups.of("x");
    groups.remove("x", a);
    groups.remove("x", a);
    groups.remove("z", a);
    expect(before).toEqual([a, b, c]);
    expect([groups.of("x"), groups.has("x", a), groups.has("x", b)]).toEqual([[b, c], false, true]);
    expect([groups.members(), groups.size]).toEqual([[b, c, a], 3]);
  });

  it("forget a key with its last member, whether it was ever alone or not", () => {
    const groups = new Groups<object>();
    for (const members of [[a], [a, b], [a, b, c]]) {
      for (const member of members) groups.add("x", member);
      for (const member of members) groups.remove("x", member);
      expect([groups.of("x"), groups.members(), groups.size]).toEqual([[], [], 0]);
    }
    groups.add("x", c);
    groups.remove("x", a);
    expect(groups.of("x")).toEqual([c]);
  });
});
