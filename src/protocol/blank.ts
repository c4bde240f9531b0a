import { create, type DescMessage, type Message } from "@bufbuild/protobuf";

/** What a message has from the start in a property. */
const START = { value: 0, list: 1, map: 2, oneof: 3 } as const;
type Start = (typeof START)[keyof typeof START];

/** A message, and its properties by their names. */
type Blank = Message & Record<string, unknown>;

/**
 * Makes messages with nothing set, several times as fast as `create`, which looks at every field: by a constructor per
 * type, so that all messages of a type begin with one hidden class. (Copies by spread would each get one of their own
 * as soon as an optional field is set.) Their prototype is that of any plain object.
 */
export function blankOf(desc: DescMessage): () => Blank {
  const empty = create(desc);
  // Outside proto3 the defaults sit on a prototype.
  if (Object.getPrototypeOf(empty) !== Object.prototype) return () => create(desc) as Blank;
  const starts = startsOf(desc);
  const members = Object.entries(empty).map(([name, value]) => ({
    name,
    value: value as unknown,
    start: starts.get(name) ?? START.value,
  }));
  function Made(this: Record<string, unknown>): void {
    for (const { name, value, start } of members) this[name] = start === START.value ? value : fresh(start);
  }
  Made.prototype = Object.prototype;
  const Constructor = Made as unknown as new () => Blank;
  return () => new Constructor();
}

function startsOf({ fields, oneofs }: DescMessage): ReadonlyMap<string, Start> {
  const starts = new Map<string, Start>(oneofs.map(({ localName }) => [localName, START.oneof]));
  for (const { localName, fieldKind } of fields) {
    if (fieldKind === "list" || fieldKind === "map") starts.set(localName, START[fieldKind]);
  }
  return starts;
}

/** What can be changed in a message is made anew for each. */
function fresh(start: Start): unknown {
  if (start === START.list) return [];
  return start === START.map ? {} : { case: undefined };
}
