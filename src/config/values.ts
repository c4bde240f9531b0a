import { z } from "zod";

/** Where a port listens. */
export interface Address {
  /** IP address or name, an IPv6 address without its brackets. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** How an editor sees a value; see JSON Schema. */
type Shape = Readonly<Record<string, unknown>>;

/** A value that is read by a function of ours, so that every setting says in one way what it expects. */
function value<T>(expected: string, shape: Shape, read: (input: unknown) => T | undefined) {
  return z
    .unknown()
    .transform((input, context): T => {
      const result = read(input);
      if (result !== undefined) return result;
      context.issues.push({ code: "custom", message: `must be ${expected}`, input });
      return z.NEVER;
    })
    .meta(shape);
}

/** Any text that is not empty. */
export function text(expected = "a text") {
  return value(expected, { type: "string", minLength: 1 }, (input) =>
    typeof input === "string" && input !== "" ? input : undefined,
  );
}

/** A path: relative to the folder of the file that names it, or to the working directory. Words are no paths. */
export function path(expected: string, ...words: readonly string[]) {
  return text(expected).meta({ path: true, words });
}

/** A text that may come from a file instead, named by the same key with `File` at its end. */
export function fileText(expected: string) {
  return text(expected).meta({ fromFile: true });
}

/** The same, never shown. */
export function secret(expected: string) {
  return text(expected).meta({ fromFile: true, writeOnly: true });
}

/** A text that must match. */
export function pattern(expected: string, regex: RegExp) {
  return value(expected, { type: "string", pattern: regex.source }, (input) =>
    typeof input === "string" && regex.test(input) ? input : undefined,
  );
}

/** One of a few words. */
export function choice<const T extends string>(...words: readonly T[]) {
  const quoted = words.map((word) => `"${word}"`);
  const expected = words.length > 2 ? `one of ${quoted.join(", ")}` : quoted.join(" or ");
  return value(expected, { enum: words }, (input) => words.find((word) => word === input));
}

/** Yes or no. Environment and flags give texts, and YAML 1.2 reads `on` and `off` as texts too. */
export function toggle() {
  const words = new Map<unknown, boolean>([
    [true, true],
    [false, false],
    ["true", true],
    ["false", false],
    ["on", true],
    ["off", false],
  ]);
  return value("true or false", { enum: [true, false, "on", "off"] }, (input) => words.get(input));
}

/** A whole number within bounds, both included. */
export function count(minimum: number, maximum: number) {
  const shape = {
    anyOf: [
      { type: "integer", minimum, maximum },
      { type: "string", pattern: "^\\d+$" },
    ],
  };
  return value(`a whole number from ${minimum} to ${maximum}`, shape, (input) =>
    inRange(wholeNumber(input), minimum, maximum),
  );
}

const SIZE = /^(\d+)\s*(B|KiB|MiB|GiB)$/;
const SIZE_UNITS = new Map([
  ["B", 1],
  ["KiB", 1024],
  ["MiB", 1024 ** 2],
  ["GiB", 1024 ** 3],
]);

/** A size in bytes: a number, or a text such as `10 MiB`. */
export function size(minimum: number, maximum: number) {
  const shape = {
    anyOf: [
      { type: "integer", minimum, maximum },
      { type: "string", pattern: "^\\d+(\\s*(B|KiB|MiB|GiB))?$" },
    ],
  };
  const expected = `a size from ${minimum} to ${maximum} bytes, such as 65536 or "10 MiB"`;
  return value(expected, shape, (input) =>
    inRange(wholeNumber(input) ?? scaled(input, SIZE, SIZE_UNITS), minimum, maximum),
  );
}

const DURATION = /^(\d+)\s*(ms|s|m|h|d)$/;
const DURATION_UNITS = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);
const DURATION_SHAPE = {
  anyOf: [
    { type: "integer", minimum: 0 },
    { type: "string", pattern: "^\\d+(\\s*(ms|s|m|h|d))?$" },
  ],
};

/** Longest time that a timer of Node waits. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** A time in milliseconds: a number, or a text such as `15 s`. */
export function duration(minimumMs: number, maximumMs = LONGEST_TIMER_MS) {
  const range = minimumMs === 0 ? "" : ` of at least ${minimumMs} ms`;
  return value(`a time${range}, such as 1500 (milliseconds), "15 s" or "7 d"`, DURATION_SHAPE, (input) =>
    inRange(wholeNumber(input) ?? scaled(input, DURATION, DURATION_UNITS), minimumMs, maximumMs),
  );
}

/** A time in milliseconds, or `off`. */
export function durationOrOff(minimumMs: number) {
  const shape = { anyOf: [...DURATION_SHAPE.anyOf, { const: "off" }] };
  return value('a time such as "7 d", or "off"', shape, (input) =>
    input === "off"
      ? ("off" as const)
      : inRange(wholeNumber(input) ?? scaled(input, DURATION, DURATION_UNITS), minimumMs),
  );
}

function wholeNumber(input: unknown): number | undefined {
  const number = typeof input === "string" && /^\d+$/.test(input) ? Number(input) : input;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

function scaled(input: unknown, form: RegExp, units: ReadonlyMap<string, number>): number | undefined {
  const [, digits, unit = ""] = typeof input === "string" ? (form.exec(input) ?? []) : [];
  return digits === undefined ? undefined : wholeNumber(Number(digits) * (units.get(unit) ?? Number.NaN));
}

function inRange(
  number: number | undefined,
  minimum: number,
  maximum = Number.MAX_SAFE_INTEGER,
): number | undefined {
  return number !== undefined && number >= minimum && number <= maximum ? number : undefined;
}

const ADDRESS = /^(?:\[([0-9A-Fa-f:.%]+)\]|([^\s:[\]/]+)):(\d{1,5})$/;

/** `HOST:PORT` as an address; undefined when the text is none. */
export function parseAddress(text: string): Address | undefined {
  const [, ipv6, name, digits] = ADDRESS.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = inRange(wholeNumber(digits), 0, 65_535);
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** An address as `HOST:PORT`, an IPv6 address in brackets. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** `HOST:PORT`, or one of the given words. */
export function address<const T extends string = never>(...words: readonly T[]) {
  const others = words.map((word) => `, or "${word}"`).join("");
  const shape = { type: "string", examples: ["127.0.0.1:8080", "[::1]:8080", ...words] };
  return value(`HOST:PORT such as 127.0.0.1:8080 or [::1]:8080${others}`, shape, (input) => {
    if (typeof input !== "string") return undefined;
    return words.find((word) => word === input) ?? parseAddress(input);
  });
}

/** An absolute http or https URL without query and fragment; a slash at its end is dropped. */
export function baseUrl() {
  const expected = "an http or https URL without query and fragment, such as https://agents.example.com";
  return value(expected, { type: "string", format: "uri" }, (input) => {
    if (typeof input !== "string" || !URL.canParse(input)) return undefined;
    const { protocol, search, hash, username, password } = new URL(input);
    const plain = search === "" && hash === "" && username === "" && password === "" && !/[?#]$/.test(input);
    return plain && /^https?:$/.test(protocol) ? input.replace(/\/+$/, "") : undefined;
  });
}
