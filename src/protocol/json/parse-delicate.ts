import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type A2AError, invalidField } from "../../errors.js";
import { setEntry } from "./entries.js";
import { markHolder, Numeral } from "./numeral.js";
import { pathOf, step } from "./path.js";
import { endOfString } from "./scan.js";

const LONE_SURROGATE = /\p{Surrogate}/u;
const SPACE = /[ \t\n\r]*/y;
const WORD = /[^ \t\n\r,\]}]*/y;

/**
 * Parses a text that `JSON.parse` accepts, slowly and to the letter: finds repeated keys, half surrogate pairs
 * and numbers too large, with their path, and keeps long integers exact when asked to. The text's depth must
 * have been checked.
 */
export function parseDelicate(text: string, exact: boolean): JsonValue {
  return new DelicateParser(text, exact).value();
}

class DelicateParser {
  readonly #text: string;
  readonly #exact: boolean;
  readonly #steps: string[] = [];
  #at = 0;
  #numerals = 0;

  constructor(text: string, exact: boolean) {
    this.#text = text;
    this.#exact = exact;
  }

  value(): JsonValue {
    this.#take(SPACE);
    const value = this.#bare();
    this.#take(SPACE);
    return value;
  }

  #bare(): JsonValue {
    switch (this.#text[this.#at]) {
      case "{":
        return this.#object();
      case "[":
        return this.#list();
      case '"':
        return this.#string();
      default:
        return this.#word();
    }
  }

  #object(): JsonValue {
    const object: JsonObject = {};
    const before = this.#numerals;
    this.#items("}", () => {
      const key = this.#key();
      this.#steps.push(step(key));
      if (Object.hasOwn(object, key)) throw this.#refuse("must not be given twice");
      setEntry(object, key, this.value());
      this.#steps.pop();
    });
    if (this.#numerals > before) markHolder(object);
    return object;
  }

  #list(): JsonValue {
    const list: JsonValue[] = [];
    const before = this.#numerals;
    this.#items("]", () => {
      this.#steps.push(step(list.length));
      list.push(this.value());
      this.#steps.pop();
    });
    if (this.#numerals > before) markHolder(list);
    return list;
  }

  /** From the opening bracket to behind the closing one. */
  #items(close: string, item: () => void): void {
    this.#at++;
    this.#take(SPACE);
    while (this.#text[this.#at] !== close) {
      item();
      if (this.#text[this.#at] === ",") this.#at++;
    }
    this.#at++;
  }

  /** A key and its colon. */
  #key(): string {
    this.#take(SPACE);
    const key = this.#string();
    this.#take(SPACE);
    this.#at++;
    return key;
  }

  #string(): string {
    const start = this.#at;
    this.#at = endOfString(this.#text, start + 1) + 1;
    const string = JSON.parse(this.#text.slice(start, this.#at)) as string;
    if (LONE_SURROGATE.test(string)) throw this.#refuse("must not hold half of a surrogate pair");
    return string;
  }

  #word(): JsonValue {
    const word = this.#take(WORD);
    const value = JSON.parse(word) as JsonValue;
    if (typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
    if (!Number.isFinite(value)) throw this.#refuse("must be a number that a double can hold");
    if (!this.#exact) return value;
    this.#numerals++;
    // Only readJsonValue, which knows Numeral, is given one.
    return new Numeral(word) as unknown as JsonValue;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const taken = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += taken.length;
    return taken;
  }

  #refuse(description: string): A2AError {
    return invalidField(pathOf(this.#steps), description);
  }
}
