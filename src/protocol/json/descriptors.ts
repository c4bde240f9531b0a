import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type Message,
  type ScalarType,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../schema.js";

/** A message as the compiled readers and writers see it: its properties by name. */
export type Fields = Record<string, unknown>;

/** The value of a oneof property. */
export interface Chosen {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** Makes one thing per message type, on first use, and lets it refer to itself while it is being made. */
export function memoize<T extends object>(blank: () => T, fill: (desc: DescMessage, made: T) => void) {
  const known = new WeakMap<DescMessage, T>();
  return (desc: DescMessage): T => {
    const found = known.get(desc);
    if (found) return found;
    const made = blank();
    known.set(desc, made);
    fill(desc, made);
    return made;
  };
}

/** A compiled reader, writer or check takes any message: its descriptor vouches for the properties. */
export function fieldsOf(message: Message): Fields {
  return message as unknown as Fields;
}

/** True for a field marked `(google.api.field_behavior) = REQUIRED`. */
export function isRequired(field: DescField): boolean {
  return (
    hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)
  );
}

/** True where a message keeps a google.protobuf.Struct as a plain object. */
export function isPlainStruct(field: DescField): boolean {
  return (
    field.message?.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value"
  );
}

/** The scalar type of a google.protobuf wrapper that a message keeps bare; undefined for any other field. */
export function bareWrapperType(field: DescField): ScalarType | undefined {
  const bare = field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message);
  return bare ? field.message.fields[0].scalar : undefined;
}
