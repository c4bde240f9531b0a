import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/protocol/entry.js";
import { WireEvent } from "../../../src/protocol/event.js";
import { type StreamResponse, TaskState } from "../../../src/protocol/schema.js";
import { packEntries, unpackEntries } from "../../../src/stores/sqlite/pack.js";
import { chunk, opening, status, text, userMessage } from "../../support/log.js";

/** Entries from `seq` on; those without a wire event of their own take no number. */
function entriesOf(responses: readonly StreamResponse[], seq = 1, number = 1): readonly Entry[] {
  let next = number;
  return responses.map((response, index) => {
    const own = response.payload.case === "message" ? 0 : next++;
    return { seq: seq + index, event: WireEvent.of(response, own) };
  });
}

const plain = (entries: readonly Entry[]) =>
  entries.map(({ seq, event }) => ({ seq, number: event.number, response: event.response }));

const piece = (length: number) => chunk({ artifactId: "a", parts: [text("x".repeat(length))] });

describe("rows of entries", () => {
  it.each([
    ["one entry", entriesOf([opening({ id: "t" })])],
    ["a commit of several", entriesOf([opening({ id: "t" }), piece(3), status(TaskState.COMPLETED)])],
    [
      "entries without a number, first and last",
      entriesOf([userMessage("m"), piece(1), userMessage("n")], 7, 4),
    ],
    [
      "many large ones",
      entriesOf(
        Array.from({ length: 9 }, () => piece(10_000)),
        2,
        2,
      ),
    ],
    ["one that fills rows by itself", entriesOf([piece(1), piece(100_000), piece(1)])],
  ])("give back %s", (_, entries) => {
    expect(plain(packEntries(entries).flatMap(unpackEntries))).toEqual(plain(entries));
  });

  it("hold a single event as it is", () => {
    const [entry] = entriesOf([piece(3)], 5, 4);
    expect(packEntries([entry as Entry])).toEqual([
      { seq: 5, number: 4, count: 1, artifact: true, event: entry?.event.binary },
    ]);
  });

  it("bear the last seq and the last number, and tell whether all are artifact updates", () => {
    const rows = (...responses: StreamResponse[]) =>
      packEntries(entriesOf(responses, 3, 2)).map(({ seq, number, count, artifact }) => [
        seq,
        number,
        count,
        artifact,
      ]);
    expect(rows(piece(1), piece(1))).toEqual([[4, 3, 2, true]]);
    expect(rows(piece(1), userMessage("m"))).toEqual([[4, 2, 2, false]]);
    expect(rows(userMessage("m"), userMessage("n"))).toEqual([[4, 0, 2, false]]);
  });

  it("take no more entries once they are 32 KiB", () => {
    const rows = packEntries(entriesOf(Array.from({ length: 9 }, () => piece(10_000))));
    expect(rows.map(({ count }) => count)).toEqual([4, 4, 1]);
  });
});
