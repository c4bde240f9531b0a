/** Random choices that a seed determines (mulberry32). */
export interface Random {
  /** From 0 up to, not including, `limit`. */
  below(limit: number): number;
  one<Item>(items: readonly Item[]): Item;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
  return { below, one: (items) => items[below(items.length)] as (typeof items)[number] };
}
