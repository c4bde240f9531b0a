import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { nearest } from "../../../src/config/nearest.js";
import * as values from "../../../src/config/values.js";

/** The value that is read, or the problem. */
function read(schema: z.ZodType, input: unknown): unknown {
  const result = schema.safeParse(input);
  return result.success ? result.data : result.error.issues.map(({ message }) => message).join();
}

const ADDRESS = "must be HOST:PORT such as 127.0.0.1:8080 or [::1]:8080";
const URL = "must be an http or https URL without query and fragment, such as https://agents.example.com";
const COUNT = "must be a whole number from 1 to 10";
const SIZE = 'must be a size from 1 to 2048 bytes, such as 65536 or "10 MiB"';
const TIME = 'must be a time of at least 5 ms, such as 1500 (milliseconds), "15 s" or "7 d"';

describe("values", () => {
  it.each<[string, z.ZodType, unknown, unknown]>([
    ["address", values.address(), "127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
    ["address", values.address(), "[::1]:65535", { host: "::1", port: 65_535 }],
    ["address", values.address(), "localhost:80", { host: "localhost", port: 80 }],
    ["address", values.address(), "::1:80", ADDRESS],
    ["address", values.address(), "a:65536", ADDRESS],
    ["address", values.address(), ":80", ADDRESS],
    ["address", values.address(), "http://a:80", ADDRESS],
    ["address", values.address(), 8080, ADDRESS],
    ["address or word", values.address("off"), "off", "off"],
    ["address or word", values.address("off"), "on", `${ADDRESS}, or "off"`],
    ["count", values.count(1, 10), 1, 1],
    ["count", values.count(1, 10), "10", 10],
    ["count", values.count(1, 10), 11, COUNT],
    ["count", values.count(1, 10), 0, COUNT],
    ["count", values.count(1, 10), 1.5, COUNT],
    ["count", values.count(1, 10), "1e1", COUNT],
    ["count", values.count(1, 10), null, COUNT],
    ["size", values.size(1, 2048), "2 KiB", 2048],
    ["size", values.size(1, 2048), "2KiB", 2048],
    ["size", values.size(1, 2048), "7", 7],
    ["size", values.size(1, 2048), "2049 B", SIZE],
    ["size", values.size(1, 2048), "2 kB", SIZE],
    ["duration", values.duration(5), "2 s", 2000],
    ["duration", values.duration(5), "1 d", 86_400_000],
    ["duration", values.duration(5), "4 ms", TIME],
    ["duration", values.duration(5), "99999999999999999 d", TIME],
    ["duration", values.duration(5), "constructor", TIME],
    ["duration or off", values.durationOrOff(5), "off", "off"],
    ["duration or off", values.durationOrOff(5), "x", 'must be a time such as "7 d", or "off"'],
    ["toggle", values.toggle(), "on", true],
    ["toggle", values.toggle(), false, false],
    ["toggle", values.toggle(), "yes", "must be true or false"],
    ["url", values.baseUrl(), "https://a.example/base/", "https://a.example/base"],
    ["url", values.baseUrl(), "http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["url", values.baseUrl(), "https://a.example/?x=1", URL],
    ["url", values.baseUrl(), "https://a.example/#", URL],
    ["url", values.baseUrl(), "https://u:p@a.example", URL],
    ["url", values.baseUrl(), "a.example:443", URL],
    ["url", values.baseUrl(), "grpc://a.example", URL],
    ["choice", values.choice("a", "b"), "a", "a"],
    ["choice", values.choice("a", "b"), "toString", 'must be "a" or "b"'],
    ["text", values.text(), "", "must be a text"],
  ])("%s: %#", (_name, schema, input, expected) => {
    expect(read(schema, input)).toEqual(expected);
  });

  it("formats addresses so that they can be parsed again", () => {
    for (const text of ["127.0.0.1:80", "[::1]:80", "localhost:0"]) {
      const address = values.parseAddress(text);
      expect(address && values.formatAddress(address)).toBe(text);
    }
  });
});

describe("nearest", () => {
  it.each([
    ["messageByte", "messageBytes"],
    ["DEPHT", "depth"],
    ["dpeth", "depth"],
    ["x", undefined],
    ["retention", undefined],
  ])("of %s is %s", (name, expected) => {
    expect(nearest(name, ["messageBytes", "depth", "idleMs"])).toBe(expected);
  });
});
