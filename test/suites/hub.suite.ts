import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Hub, Listener, Subscription } from "../../src/hub/hub.js";
import type { Entry } from "../../src/protocol/entry.js";
import { WireEvent } from "../../src/protocol/event.js";
import { StreamResponseSchema } from "../../src/protocol/schema.js";

const entry = (seq: number): Entry => ({ seq, event: WireEvent.of(create(StreamResponseSchema), seq) });

/** Collects the seqs it is woken with, and lets a test wait until there are so many. */
function createEar() {
  const heard: number[] = [];
  let check = () => {};
  const wake: Listener["wake"] = (entries = []) => {
    heard.push(...entries.map(({ seq }) => seq));
    check();
  };
  const until = (count: number) =>
    new Promise<readonly number[]>((resolve) => {
      check = () => {
        if (heard.length >= count) resolve([...heard]);
      };
      check();
    });
  return { heard, wake, until };
}

/** What every hub must do, whoever carries its messages. */
export function hubSuite(name: string, open: () => Promise<{ hub: Hub; close(): Promise<void> }>): void {
  describe(`hub: ${name}`, () => {
    const run = (body: (hub: Hub) => Promise<void>) => async () => {
      const { hub, close } = await open();
      try {
        await body(hub);
      } finally {
        await close();
      }
    };

    it(
      "wakes every reader of a key with the entries in order, and no reader of another key",
      run(async (hub) => {
        const [first, second, other] = [createEar(), createEar(), createEar()];
        await hub.subscribe("a", first);
        await hub.subscribe("a", second);
        await hub.subscribe("b", other);
        hub.publish("a", [entry(1), entry(2)]);
        hub.publish("a", [entry(3)]);
        hub.publish("b", [entry(9)]);
        expect(await first.until(3)).toEqual([1, 2, 3]);
        expect(await second.until(3)).toEqual([1, 2, 3]);
        expect(await other.until(1)).toEqual([9]);
      }),
    );

    it(
      "drops what nobody listens to, and does not keep it for later readers",
      run(async (hub) => {
        hub.publish("a", [entry(1)]);
        const ear = createEar();
        await hub.subscribe("a", ear);
        hub.publish("a", [entry(2)]);
        expect(await ear.until(1)).toEqual([2]);
      }),
    );

    it(
      "stops waking a reader that ended, at once and however often it says so",
      run(async (hub) => {
        const [gone, kept] = [createEar(), createEar()];
        const end = await hub.subscribe("a", gone);
        await hub.subscribe("a", kept);
        end.close();
        end.close();
        hub.publish("a", [entry(1)]);
        expect(await kept.until(1)).toEqual([1]);
        expect(gone.heard).toEqual([]);
      }),
    );

    it(
      "counts a listener that subscribed twice as two readers",
      run(async (hub) => {
        const ear = createEar();
        const end = await hub.subscribe("a", ear);
        await hub.subscribe("a", ear);
        hub.publish("a", [entry(1)]);
        expect(await ear.until(2)).toEqual([1, 1]);
        end.close();
        hub.publish("a", [entry(2)]);
        expect(await ear.until(3)).toEqual([1, 1, 2]);
      }),
    );

    it(
      "lets a reader end itself, end another, and start a new one while it is being woken",
      run(async (hub) => {
        const [other, late, kept] = [createEar(), createEar(), createEar()];
        const ends: Subscription[] = [];
        const started: Promise<unknown>[] = [];
        let woken = 0;
        const restless: Listener = {
          wake() {
            woken += 1;
            for (const end of ends) end.close();
            started.push(hub.subscribe("a", late));
          },
        };
        ends.push(await hub.subscribe("a", restless));
        ends.push(await hub.subscribe("a", other));
        await hub.subscribe("a", kept);
        hub.publish("a", [entry(1)]);
        await kept.until(1);
        await Promise.all(started);
        hub.publish("a", [entry(2)]);
        expect(await kept.until(2)).toEqual([1, 2]);
        expect(await late.until(1)).toEqual([2]);
        expect(woken).toBe(1);
        expect(other.heard).toEqual([]);
      }),
    );

    it(
      "takes any key",
      run(async (hub) => {
        const keys = ["", "__proto__", "constructor", "a\0b", "ä/😀"];
        const ears = keys.map(createEar);
        await Promise.all(keys.map((key, i) => hub.subscribe(key, ears[i] as Listener)));
        keys.forEach((key, i) => {
          hub.publish(key, [entry(i + 1)]);
        });
        expect(await Promise.all(ears.map((ear) => ear.until(1)))).toEqual(keys.map((_, i) => [i + 1]));
      }),
    );
  });
}
