import { describe, expect, test } from "vitest";
import { createTranscoder } from "../../../src/bindings/rest/transcoder.js";
import { type AnnotatedRpc, annotatedService } from "../../support/annotated-service.js";

type Rule = NonNullable<AnnotatedRpc["rule"]>;

const get = (value: string, rest: Rule = {}): Rule => ({ pattern: { case: "get", value }, ...rest });
const post = (value: string, rest: Rule = {}): Rule => ({ pattern: { case: "post", value }, ...rest });
const custom = (kind: string, path: string): Rule => ({ pattern: { case: "custom", value: { kind, path } } });

const compile = (...rpcs: AnnotatedRpc[]) => createTranscoder([annotatedService(rpcs)]);

describe("a definition that is not sound stops the start, naming RPC and template", () => {
  const refused: [template: string, rpc: AnnotatedRpc, problem: string][] = [
    ["/a/{kind=x/{tags}}", { rule: get("/a/{kind=x/{tags}}") }, "column 12: a variable inside a variable"],
    ["/a/**/b", { rule: get("/a/**/b") }, 'column 6: "**" must be the last segment'],
    ["/**/{kind=**}", { rule: get("/**/{kind=**}") }, 'column 11: a second "**"'],
    ["/{kind}/{kind}", { rule: get("/{kind}/{kind}") }, 'column 10: the variable "kind" a second time'],
    ["/{nope}", { rule: get("/{nope}") }, 'the variable "nope" is no field of switchyard.test.v1.Update'],
    [
      "/{book.nope}",
      { rule: get("/{book.nope}") },
      'the variable "book.nope" is no field of switchyard.test.v1.Update',
    ],
    [
      "/{nope.id}",
      { rule: get("/{nope.id}") },
      'the variable "nope.id" is no field of switchyard.test.v1.Update',
    ],
    [
      "/{pageSize}",
      { input: "Q", rule: get("/{pageSize}") },
      'the variable "pageSize" is no field of switchyard.test.v1.Q',
    ],
    ["/{tags}", { rule: get("/{tags}") }, 'the variable "tags": a list is not one value'],
    [
      "/{ins.leaf_name}",
      { input: "Q", rule: get("/{ins.leaf_name}") },
      'the variable "ins.leaf_name": an item of a list has no name',
    ],
    ["/{ins}", { input: "Q", rule: get("/{ins}") }, 'the variable "ins": a message has no text form'],
    ["/{labels}", { rule: get("/{labels}") }, 'the variable "labels": a map has no place in an address'],
    [
      "/{labels.key}",
      { rule: get("/{labels.key}") },
      'the variable "labels.key": a map has no place in an address',
    ],
    ["/{book}", { rule: get("/{book}") }, 'the variable "book": a message has no text form'],
    ["/{extra}", { rule: get("/{extra}") }, 'the variable "extra": a message has no text form'],
    ["/{kind.x}", { rule: get("/{kind.x}") }, 'the variable "kind.x": the field has no fields of its own'],
    [
      "/{after.seconds}",
      { input: "Q", rule: get("/{after.seconds}") },
      'the variable "after.seconds": the field has no fields of its own',
    ],
    ["/{a}/{b}", { input: "Q", rule: get("/{a}/{b}") }, 'the variables "a" and "b" share a oneof'],
    [
      "/{one_deep.left}/{one_deep.right}",
      { input: "Kinds", rule: get("/{one_deep.left}/{one_deep.right}") },
      'the variables "left" and "right" share a oneof',
    ],
    [
      "/{one_deep.name}/{one_string}",
      { input: "Kinds", rule: get("/{one_deep.name}/{one_string}") },
      'the variables "one_deep" and "one_string" share a oneof',
    ],
    [
      "/a",
      { rule: post("/a", { body: "nope" }) },
      'body names "nope", which is no field of switchyard.test.v1.Update',
    ],
    [
      "/a",
      { rule: post("/a", { body: "book.title" }) },
      'body names "book.title", which is no field of switchyard.test.v1.Update',
    ],
    [
      "/{kind}",
      { rule: post("/{kind}", { body: "kind" }) },
      'the variable "kind" is the field that body names',
    ],
    [
      "/a",
      { rule: get("/a", { responseBody: "nope" }) },
      'response_body names "nope", which is no field of switchyard.test.v1.Update',
    ],
    [
      "/a",
      { rule: get("/a", { responseBody: "book.title" }) },
      'response_body names "book.title", which is no field of switchyard.test.v1.Update',
    ],
    [
      "/a",
      { rule: get("/a", { responseBody: "*" }) },
      'response_body names "*", which is no field of switchyard.test.v1.Update',
    ],
    [
      "/b",
      { rule: get("/a", { additionalBindings: [get("/b", { additionalBindings: [get("/c")] })] }) },
      "additional_bindings inside an additional binding",
    ],
    ["/a", { streams: "in", rule: post("/a") }, "a stream of requests has no HTTP form"],
    ["/a", { streams: "both", rule: post("/a") }, "a stream of requests has no HTTP form"],
    ["", { rule: { body: "*" } }, "the rule has no pattern"],
    ["", { rule: get("/a", { additionalBindings: [{ body: "*" }] }) }, "the rule has no pattern"],
    ["/a", { rule: custom("", "/a") }, '"" is not an HTTP method'],
    ["/a", { rule: custom("NO WAY", "/a") }, '"NO WAY" is not an HTTP method'],
    ["", { rule: get("") }, 'column 1: expected "/", found the end'],
    [
      "/raw",
      { streams: "out", output: ".google.api.HttpBody", rule: get("/raw") },
      "a stream of google.api.HttpBody has no event form",
    ],
    [
      "/raw",
      { streams: "out", output: "RawTo", rule: get("/raw", { responseBody: "file" }) },
      "a stream of google.api.HttpBody has no event form",
    ],
  ];

  test.each(refused)("%s %#", (template, rpc, problem) => {
    expect(() => compile({ rule: get("/fine") }, rpc)).toThrow(
      new Error(`made.up.v1.Service.B, template "${template}": ${problem}`),
    );
  });

  test.each([
    ["/{kind}/x", get("/{kind}/x"), "/*/x", get("/*/x"), "GET"],
    ["/{kind}/x", get("/{kind}/x"), "/{kind=*}/x", get("/{kind=*}/x"), "GET"],
    ["/{kind=a/*}:v", get("/{kind=a/*}:v"), "/a/{kind}:v", get("/a/{kind}:v"), "GET"],
    ["/{kind=**}", get("/{kind=**}"), "/**", get("/**"), "GET"],
    ["/a", custom("GET", "/a"), "/a", get("/a"), "GET"],
    ["/a", custom("*", "/a"), "/a", custom("*", "/a"), "*"],
  ])("two RPCs at one address: %s", (first, firstRule, second, secondRule, method) => {
    expect(() => compile({ rule: firstRule }, { rule: secondRule })).toThrow(
      new Error(
        `made.up.v1.Service.A, template "${first}", and made.up.v1.Service.B, template "${second}": ` +
          `both answer ${method} at the same address`,
      ),
    );
  });

  test("one RPC twice at one address is no better", () => {
    const rule = get("/{kind}", { additionalBindings: [get("/{book.id}")] });
    expect(() => compile({ rule })).toThrow("both answer GET at the same address");
  });
});

describe("a definition that is sound", () => {
  test.each([
    ["the same shape under another method", get("/{kind}"), post("/{kind}")],
    ["the same segments under another verb", get("/{kind}:a"), get("/{kind}:b")],
    ["a literal beside a variable", get("/{kind}"), get("/fixed")],
    ["all methods beside one", custom("*", "/a"), get("/a")],
    ["a variable inside the field that body names", get("/a"), post("/{book.id}", { body: "book" })],
  ])("%s", (_, first, second) => {
    expect(compile({ rule: first }, { rule: second }).routes).toHaveLength(2);
  });

  test("gives a warning for a body that many clients do not send", () => {
    const { warnings } = compile(
      { rule: get("/a", { body: "*" }) },
      { rule: { pattern: { case: "delete", value: "/b" }, body: "book" } },
      { rule: post("/c", { body: "*" }) },
    );
    expect(warnings).toEqual([
      'made.up.v1.Service.A, template "/a": many clients send no body with GET',
      'made.up.v1.Service.B, template "/b": many clients send no body with DELETE',
    ]);
  });
});
