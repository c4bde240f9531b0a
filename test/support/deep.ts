import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";

/** Lists within one another, so many levels. */
export function nestedList(levels: number): JsonValue {
  return nested(levels, (inner) => (inner === undefined ? [] : [inner]));
}

/** Objects within one another, so many levels. */
export function nestedObject(levels: number): JsonObject {
  return nested(levels, (inner): JsonObject => (inner === undefined ? {} : { a: inner }));
}

function nested<T>(levels: number, around: (inner: T | undefined) => T): T {
  let value = around(undefined);
  for (let level = 1; level < levels; level++) value = around(value);
  return value;
}

/** A part of data. */
export function dataPart(value: JsonValue) {
  return {
    content: { case: "data", value: fromJson(ValueSchema, value, { recursionLimit: 10_000 }) },
  } as const;
}
