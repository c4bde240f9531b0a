/**
 * A map for what comes and goes with every call. A `Map` alone would leave a trail: whenever V8 lays one out anew, the
 * old table points to the new one, and once one of them has grown old, garbage collection takes everything that ever
 * stood in those after it for alive until it next looks at the whole heap. So what the table holds here are boxes,
 * which are emptied when their key is deleted.
 */
export class Registry<Key extends string | number, Value extends object> {
  readonly #boxes = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#boxes.size;
  }

  get(key: Key): Value | undefined {
    return this.#boxes.get(key)?.value;
  }

  has(key: Key): boolean {
    return this.#boxes.has(key);
  }

  set(key: Key, value: Value): void {
    const box = this.#boxes.get(key);
    if (box === undefined) this.#boxes.set(key, { value });
    else box.value = value;
  }

  delete(key: Key): void {
    const box = this.#boxes.get(key);
    if (box === undefined) return;
    box.value = undefined;
    this.#boxes.delete(key);
  }

  /** What is there now, in the order in which it came; changes afterwards do not show in it. */
  values(): readonly Value[] {
    return [...this.#boxes.values()].map(({ value }) => value as Value);
  }
}

/** A set for what comes and goes with every call, for the same reason. */
export class Roster<Member extends object> {
  readonly #members = new Registry<number, Member>();
  #next = 0;

  get size(): number {
    return this.#members.size;
  }

  /** Returns the place at which it is to be taken out again. */
  add(member: Member): number {
    this.#next += 1;
    this.#members.set(this.#next, member);
    return this.#next;
  }

  remove(place: number): void {
    this.#members.delete(place);
  }

  members(): readonly Member[] {
    return this.#members.values();
  }
}
