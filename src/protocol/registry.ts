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

/** Where a member of a roster stands. */
export interface Place {
  at: number;
}

interface Standing<Member> extends Place {
  readonly member: Member;
}

/** A set for what comes and goes with every call: a list, which V8 never lays out anew for what has left. */
export class Roster<Member extends object> {
  readonly #standing: Standing<Member>[] = [];

  get size(): number {
    return this.#standing.length;
  }

  /** Returns the place to be given to `remove`. */
  add(member: Member): Place {
    const place = { at: this.#standing.length, member };
    this.#standing.push(place);
    return place;
  }

  /** The last one takes the place. Once it has been removed, does nothing. */
  remove(place: Place): void {
    if (this.#standing[place.at] !== place) return;
    const last = this.#standing.pop() as Standing<Member>;
    if (last === place) return;
    this.#standing[place.at] = last;
    last.at = place.at;
  }

  /** Who is there now, in no particular order; changes afterwards do not show in it. */
  members(): readonly Member[] {
    return this.#standing.map(({ member }) => member);
  }
}
