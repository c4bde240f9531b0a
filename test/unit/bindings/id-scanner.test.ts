import { describe, expect, it } from "vitest";
import { findId } from "../../../src/bindings/jsonrpc/id-scanner.js";

describe("finds the id as it is written", () => {
  it.each([
    ['{"id":1}', "1"],
    ['{"id":1.0}', "1.0"],
    ['{"id":1e3,"a":1}', "1e3"],
    ['{"id":-0}', "-0"],
    ['{"id":12345678901234567890}', "12345678901234567890"],
    ['{"id":null}', "null"],
    ['{"id":"a\\u0062\\"c"}', '"a\\u0062\\"c"'],
    [' {\n "method" : "x" ,\t"id" : 7 \r\n} ', "7"],
    ['{"params":{"id":1,"a":[{"id":2},"]}\\"{"]},"id":3}', "3"],
    ['{"params":[[],[{}],"\\\\"],"id":3,"x":{"id":4}}', "3"],
    ['{"\\u0069d":5}', "5"],
    ['{"a":true,"id":6,"b":false}', "6"],
    [`{"params":[${"[".repeat(10_000)}${"]".repeat(10_000)}],"id":8}`, "8"],
  ])("%j", (text, id) => {
    expect(findId(text)).toBe(id);
  });
});

describe("finds none", () => {
  it.each([
    "",
    "[]",
    "1",
    '"id"',
    "{}",
    '{"a":1}',
    '{"params":{"id":1}}',
    '{"ID":1}',
    '{"id":true}',
    '{"id":{}}',
    '{"id":[1]}',
    '{"id":1,"id":1}',
    '{"id":1,"\\u0069d":2}',
    '[{"id":1}]',
    '{"id":',
    '{"id":01}',
    '{"id":"x',
    '{"id"',
    '{"a":[',
    '{"a":"',
    "{,}",
    '{"a" "b"}',
  ])("%j", (text) => {
    expect(findId(text)).toBeUndefined();
  });
});
