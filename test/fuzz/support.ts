import fc from "fast-check";
import { it } from "vitest";

/** Seconds that each target runs. `make fuzz` and `make soak` set more. */
export const FUZZ_SECONDS = Number(process.env.FUZZ_SECONDS ?? 1);

/** A fuzz target: runs the property on random input until its time is up. A failure prints the seed that repeats it. */
export function fuzz<Input>(name: string, property: fc.IRawProperty<Input>): void {
  it(name, { timeout: (FUZZ_SECONDS + 60) * 1000 }, async () => {
    await fc.assert(property, {
      numRuns: Number.MAX_SAFE_INTEGER,
      interruptAfterTimeLimit: FUZZ_SECONDS * 1000,
      markInterruptAsFailure: false,
    });
  });
}

/** The bytes of a text with a few of them changed, left out, doubled or swapped for something JSON cares about. */
export function mutated(texts: fc.Arbitrary<string>): fc.Arbitrary<Uint8Array> {
  const change = fc.record({
    at: fc.nat(),
    cut: fc.integer({ min: 0, max: 4 }),
    put: fc.oneof(
      fc.uint8Array({ maxLength: 4 }),
      fc.constantFrom(...SPICE).map((text) => Uint8Array.from(Buffer.from(text))),
    ),
  });
  return fc.tuple(texts, fc.array(change, { maxLength: 4 })).map(([text, changes]) => {
    let bytes = Buffer.from(text);
    for (const { at, cut, put } of changes) {
      const start = at % (bytes.length + 1);
      bytes = Buffer.concat([bytes.subarray(0, start), put, bytes.subarray(start + cut)]);
    }
    return bytes;
  });
}

const SPICE = `{ } [ ] , : " \\ null true 0 - . e 1e999 1e5 9007199254740993 1.0 "id": "a":1, \\u0069 \\ud800
  \\ud83d\\ude00 __proto__ [[[[[[[[[[ \u2028 \ufeff`.split(/ +|\n/);
