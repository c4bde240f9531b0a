import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { setEntry } from "./entries.js";
import { Fault } from "./fault.js";

/** A number beyond 2^53 as it was written, for fields of 64 bits. Anything else takes it as a number. */
export class Numeral {
  constructor(readonly text: string) {}

  valueOf(): number {
    return Number(this.text);
  }
}

const holders = new WeakSet<object>();

/** Notes that a list or object has a Numeral somewhere below it. */
export function markHolder(container: object): void {
  holders.add(container);
}

/** The value with every Numeral below it turned into the nearest number. */
export function toPlainJson(value: JsonValue): JsonValue {
  if (value instanceof Numeral) return value.valueOf();
  if (typeof value !== "object" || value === null || !holders.has(value)) return value;
  if (Array.isArray(value)) return value.map(toPlainJson);
  const plain: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setEntry(plain, key, toPlainJson(item));
  return plain;
}

/** The value as an object with keys; throws Fault for anything else. */
export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Numeral) {
    throw new Fault("must be an object");
  }
  return value as Record<string, unknown>;
}
