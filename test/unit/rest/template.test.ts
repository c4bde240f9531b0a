import { describe, expect, test } from "vitest";
import { parseTemplate } from "../../../src/bindings/rest/template.js";

const literal = (text: string) => ({ kind: "literal" as const, text });
const single = { kind: "single" as const };
const rest = { kind: "rest" as const };

describe("a path template", () => {
  test.each([
    ["/tasks", [literal("tasks")], [], ""],
    ["/message:send", [literal("message")], [], "send"],
    ["/.well-known/a~b!$&'()+,;=@", [literal(".well-known"), literal("a~b!$&'()+,;=@")], [], ""],
    ["/a%2Fb", [literal("a%2Fb")], [], ""],
    ["/*/**", [single, rest], [], ""],
    ["/{id}", [single], [{ name: "id", start: 0, end: 1, single: true }], ""],
    ["/{id=*}:cancel", [single], [{ name: "id", start: 0, end: 1, single: true }], "cancel"],
    ["/{id=fixed}", [literal("fixed")], [{ name: "id", start: 0, end: 1, single: true }], ""],
    ["/{path=**}:stat", [rest], [{ name: "path", start: 0, end: undefined, single: false }], "stat"],
    [
      "/v1/{name=projects/*/tasks/*}:check",
      [literal("v1"), literal("projects"), single, literal("tasks"), single],
      [{ name: "name", start: 1, end: 5, single: false }],
      "check",
    ],
    [
      "/{a.b_c.d1}/x/{e=y/**}",
      [single, literal("x"), literal("y"), rest],
      [
        { name: "a.b_c.d1", start: 0, end: 1, single: true },
        { name: "e", start: 2, end: undefined, single: false },
      ],
      "",
    ],
  ])("%s", (text, segments, variables, verb) => {
    expect(parseTemplate(text)).toEqual({ text, segments, variables, verb });
  });
});

describe("a template that is not one names the column", () => {
  test.each([
    ["", 'column 1: expected "/", found the end'],
    ["tasks", 'column 1: expected "/", found "t"'],
    ["/", "column 2: expected a segment, found the end"],
    ["/a/", "column 4: expected a segment, found the end"],
    ["//a", 'column 2: expected a segment, found "/"'],
    ["/a b", 'column 3: unexpected " "'],
    ["/caf\u00e9", 'column 5: unexpected "\u00e9"'],
    ["/\u{1f600}", 'column 2: expected a segment, found "\u{1f600}"'],
    ["/a%2", 'column 3: unexpected "%"'],
    ["/a?b", 'column 3: unexpected "?"'],
    ["/a*", 'column 3: unexpected "*"'],
    ["/*a", 'column 3: unexpected "a"'],
    ["/***", 'column 4: unexpected "*"'],
    ["/a:", "column 4: expected a verb, found the end"],
    ["/a:*", 'column 4: expected a verb, found "*"'],
    ["/a:b:c", 'column 5: unexpected ":"'],
    ["/a:b/c", 'column 5: unexpected "/"'],
    ["/{", "column 3: expected a field path, found the end"],
    ["/{}", 'column 3: expected a field path, found "}"'],
    ["/{1a}", 'column 3: expected a field path, found "1"'],
    ["/{a.}", 'column 4: expected "}", found "."'],
    ["/{a", 'column 4: expected "}", found the end'],
    ["/{a=}", 'column 5: expected a segment, found "}"'],
    ["/{a=b:c}", 'column 6: expected "}", found ":"'],
    ["/{a}b", 'column 5: unexpected "b"'],
    ["/a{b}", 'column 3: unexpected "{"'],
    ["/a}", 'column 3: unexpected "}"'],
    ["/{a=x/{b}}", "column 7: a variable inside a variable"],
    ["/a/**/b", 'column 6: "**" must be the last segment'],
    ["/{a=**}/b", 'column 8: "**" must be the last segment'],
    ["/{a=**/b}", 'column 7: "**" must be the last segment'],
    ["/**/**", 'column 5: a second "**"'],
    ["/**/a/**", 'column 7: a second "**"'],
    ["/{a=**}/{b=**}", 'column 12: a second "**"'],
    ["/{a}/{a}", 'column 7: the variable "a" a second time'],
    ["/{a.b}/x/{a.b=**}", 'column 11: the variable "a.b" a second time'],
  ])("%j", (text, problem) => {
    expect(() => parseTemplate(text)).toThrow(new Error(problem));
  });
});
