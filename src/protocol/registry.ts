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

/** Members under keys. Most keys have one, for whom a set would be four times the memory. */
export class Groups<Member extends object> {
  readonly #byKey = new Registry<string, Member | Set<Member>>();
  #size = 0;

  /** Members in all. */
  get size(): number {
    return this.#size;
  }

  /** A member that is there already does not come twice. */
  add(key: string, member: Member): void {
    if (this.has(key, member)) return;
    this.#size += 1;
    const group = this.#byKey.get(key);
    if (group === undefined) this.#byKey.set(key, member);
    else if (group instanceof Set) group.add(member);
    else this.#byKey.set(key, new Set([group, member]));
  }

  has(key: string, member: Member): boolean {
    const group = this.#byKey.get(key);
    return group instanceof Set ? group.has(member) : group === member;
  }

  /** Once it has been removed, does nothing. */
  remove(key: string, member: Member): void {
    if (!this.has(key, member)) return;
    this.#size -= 1;
    const group = this.#byKey.get(key);
    if (!(group instanceof Set && group.size > 1)) this.#byKey.delete(key);
    else group.delete(member);
  }

  /** Who is there now, in the order in which they came; changes afterwards do not show in it. */
  of(key: string): readonly Member[] {
    const group = this.#byKey.get(key);
    if (group === undefined) return [];
    return group instanceof Set ? [...group] : [group];
  }

  /** All members now; changes afterwards do not show in it. */
  members(): readonly Member[] {
    return this.#byKey.values().flatMap((group) => (group instanceof Set ? [...group] : [group]));
  }
}
