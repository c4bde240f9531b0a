import { type Entry, entryFromBinary } from "../../protocol/entry.js";
import type { WireEvent } from "../../protocol/event.js";

/**
 * The entries of a commit share rows: a row costs SQLite several times what an event takes to copy. A row with one
 * entry holds its event as it is; with more of them, each event has its number and length before it, both as
 * unsigned 32-bit integers, little endian.
 */
export interface EntryRow {
  /** Of the last entry in the row; the others come right before it. */
  readonly seq: number;
  /** Number of the last wire event in the row; 0 when there is none. */
  readonly number: number;
  readonly count: number;
  readonly event: Uint8Array;
}

/** A row, and whether a task without its artifacts can do without it. */
export interface PackedRow extends EntryRow {
  /** True when all it holds are artifact updates. */
  readonly artifact: boolean;
}

/** Bytes from which a row takes no more entries: whoever reads one entry reads its whole row. */
const FULL_BYTES = 32 * 1024;
const HEAD_BYTES = 8;

/** Lays entries out in rows, in order. */
export function packEntries(entries: readonly Entry[]): readonly PackedRow[] {
  const rows: PackedRow[] = [];
  let start = 0;
  let bytes = 0;
  for (let end = 1; end <= entries.length; end += 1) {
    bytes += (entries[end - 1] as Entry).event.binary.byteLength + HEAD_BYTES;
    if (end < entries.length && bytes < FULL_BYTES) continue;
    rows.push(toRow(entries.slice(start, end), bytes));
    start = end;
    bytes = 0;
  }
  return rows;
}

function toRow(entries: readonly Entry[], bytes: number): PackedRow {
  const last = entries.at(-1) as Entry;
  return {
    seq: last.seq,
    number: entries.findLast(({ event }) => event.number > 0)?.event.number ?? 0,
    artifact: entries.every(({ event }) => isArtifactUpdate(event)),
    count: entries.length,
    event: entries.length === 1 ? last.event.binary : pack(entries, bytes),
  };
}

function pack(entries: readonly Entry[], bytes: number): Uint8Array {
  const packed = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const { event } of entries) {
    const { number, binary } = event;
    packed.writeUInt32LE(number, at);
    packed.writeUInt32LE(binary.byteLength, at + 4);
    packed.set(binary, at + HEAD_BYTES);
    at += HEAD_BYTES + binary.byteLength;
  }
  return packed;
}

/** Such an event leaves a task as it is, its artifacts aside. */
export function isArtifactUpdate(event: WireEvent): boolean {
  return event.response.payload.case === "artifactUpdate";
}

/** The entries of a row, in order. */
export function unpackEntries({ seq, number, count, event }: EntryRow): readonly Entry[] {
  if (count === 1) return [entryFromBinary(seq, number, event)];
  const packed = Buffer.from(event.buffer, event.byteOffset, event.byteLength);
  const entries: Entry[] = [];
  let at = 0;
  for (let place = seq - count + 1; place <= seq; place += 1) {
    const start = at + HEAD_BYTES;
    const end = start + packed.readUInt32LE(at + 4);
    entries.push(entryFromBinary(place, packed.readUInt32LE(at), packed.subarray(start, end)));
    at = end;
  }
  return entries;
}
