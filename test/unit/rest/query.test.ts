import { toJson } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { createTranscoder, type TranscoderOptions } from "../../../src/bindings/rest/transcoder.js";
import { testService } from "../../support/test-protos.js";

/** The message that a target decodes to, as ProtoJSON; or the failure's problem and text. */
function decode(target: string, options: TranscoderOptions = {}, method = "GET"): unknown {
  const found = createTranscoder([testService("RulesService")], options).match({ method, target });
  if (found.kind === "options") throw new Error("not an OPTIONS request");
  const decoded = found.kind === "match" ? found.decode() : found;
  if (decoded.kind === "failure") return `${decoded.problem}: ${decoded.error.message}`;
  return found.kind === "match" && toJson(found.method.input, decoded.message);
}

const expected = {
  i32: "a 32-bit integer",
  u32: "an unsigned 32-bit integer",
  i64: "a 64-bit integer",
  u64: "an unsigned 64-bit integer",
  f64: "a number",
  f32: "a 32-bit number",
  bool: "true or false",
  bytes: "base64",
  choice: "a value of switchyard.test.v1.Choice",
  time: "an RFC 3339 timestamp",
  duration: "a duration in seconds, such as 1.5s",
  mask: "field paths in lowerCamelCase, joined by commas",
};

const SIGNED_32 = ["i32", "s32", "sx32", "wrappedI32", "optionalI32"];
const UNSIGNED_32 = ["u32", "x32", "wrappedU32"];
const SIGNED_64 = ["i64", "s64", "sx64", "textI64", "wrappedI64"];
const UNSIGNED_64 = ["u64", "x64", "wrappedU64"];

type Row = readonly [field: string, text: string, value: unknown];

const accepted: Row[] = [
  ...SIGNED_32.flatMap((field): Row[] => [
    [field, "2147483647", 2147483647],
    [field, "-2147483648", -2147483648],
    [field, "7", 7],
  ]),
  ...UNSIGNED_32.map((field): Row => [field, "4294967295", 4294967295]),
  ...SIGNED_64.flatMap((field): Row[] => [
    [field, "9223372036854775807", "9223372036854775807"],
    [field, "-9223372036854775808", "-9223372036854775808"],
    [field, "9007199254740993", "9007199254740993"],
  ]),
  ...UNSIGNED_64.map((field): Row => [field, "18446744073709551615", "18446744073709551615"]),
  ["f64", "1.5", 1.5],
  ["f64", "-1e-300", -1e-300],
  ["f64", "1E2", 100],
  ["f64", "NaN", "NaN"],
  ["f64", "Infinity", "Infinity"],
  ["f64", "-Infinity", "-Infinity"],
  ["wrappedF64", "2.25", 2.25],
  ["f32", "3.4028234663852886e38", 3.4028234663852886e38],
  ["f32", "-Infinity", "-Infinity"],
  ["wrappedF32", "0.5", 0.5],
  ["bool", "true", true],
  ["wrappedBool", "false", false],
  ["string", "a%20b+c%2Bd", "a b c+d"],
  ["string", "%F0%9F%98%80%0A", "\u{1f600}\n"],
  ["string", "\u00c3\u00a9", "\u00e9"], // octets that were not escaped
  ["string", "1;b=2", "1;b=2"],
  ["string", "a=b", "a=b"],
  ["wrappedString", "", ""],
  ["optionalString", "", ""],
  ["bytes", "-_8", "+/8="],
  ["bytes", "%2B/8", "+/8="],
  ["bytes", "-_8%3D", "+/8="],
  ["bytes", "aGk", "aGk="],
  ["bytes", "aA==", "aA=="],
  ["wrappedBytes", "", ""],
  ["optionalBytes", "", ""],
  ["choice", "CHOICE_ONE", "CHOICE_UNO"], // one number, of whose two names the printer takes the last
  ["choice", "CHOICE_UNO", "CHOICE_UNO"],
  ["choice", "1", "CHOICE_UNO"],
  ["choice", "-1", "CHOICE_BELOW"],
  ["optionalChoice", "0", "CHOICE_UNSPECIFIED"],
  ["optionalI32", "0", 0],
  ["null", "NULL_VALUE", undefined],
  ["time", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"],
  ["time", "2026-01-02T05:04:05.120%2B02:00", "2026-01-02T03:04:05.120Z"],
  ["time", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  ["time", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"],
  ["duration", "1.5s", "1.500s"],
  ["duration", "-0.000000001s", "-0.000000001s"],
  ["mask", "", ""],
  ["mask", "pageSize,in.leafName", "pageSize,in.leafName"],
  ["f64s", "1,2.5,-3e1", [1, 2.5, -30]],
  ["u64s", "0,18446744073709551615", ["0", "18446744073709551615"]],
  ["blobs", "-_8", ["+/8="]],
  ["bools", "true", [true]],
  ["times", "2026-01-02T03:04:05Z", ["2026-01-02T03:04:05Z"]],
  ["wrapped", "9007199254740993", ["9007199254740993"]],
  ["oneWrapped", "5", "5"],
  ["oneChoice", "0", "CHOICE_UNSPECIFIED"],
];

const NO_INTEGER = [
  "",
  "+5",
  "%2B5",
  "1e1",
  "1.0",
  "0x10",
  "010",
  "1_0",
  "%201",
  "1%20",
  "-",
  "--1",
  "NaN",
  "5,6",
];
const refused: [field: string, text: string, expected: string][] = [
  ...NO_INTEGER.flatMap((text) => [
    ...SIGNED_32.map((field): [string, string, string] => [field, text, expected.i32]),
    ...UNSIGNED_32.map((field): [string, string, string] => [field, text, expected.u32]),
    ...SIGNED_64.map((field): [string, string, string] => [field, text, expected.i64]),
    ...UNSIGNED_64.map((field): [string, string, string] => [field, text, expected.u64]),
  ]),
  ...SIGNED_32.flatMap((field): [string, string, string][] => [
    [field, "2147483648", expected.i32],
    [field, "-2147483649", expected.i32],
  ]),
  ...UNSIGNED_32.flatMap((field): [string, string, string][] => [
    [field, "4294967296", expected.u32],
    [field, "-1", expected.u32],
  ]),
  ...SIGNED_64.flatMap((field): [string, string, string][] => [
    [field, "9223372036854775808", expected.i64],
    [field, "-9223372036854775809", expected.i64],
    [field, "9".repeat(5000), expected.i64],
  ]),
  ...UNSIGNED_64.flatMap((field): [string, string, string][] => [
    [field, "18446744073709551616", expected.u64],
    [field, "-1", expected.u64],
  ]),
  ...["", "1.", ".5", "01", "1e400", "-1e400", "infinity", "inf", "nan", "0x1", "1,5", "+1"].flatMap(
    (text): [string, string, string][] => [
      ["f64", text, expected.f64],
      ["f32", text, expected.f32],
    ],
  ),
  ["f32", "3.5e38", expected.f32],
  ...["", "1", "0", "TRUE", "True", "t", "yes", "on"].map((text): [string, string, string] => [
    "bool",
    text,
    expected.bool,
  ]),
  ...["a", "a===", "aGk%3D%3D", "a%3D", "%3D", "a+b=", "a b=", "aGk%0A", "a.b=", "=aGk"].map(
    (text): [string, string, string] => ["bytes", text, expected.bytes],
  ),
  ...["", "ONE", "choice_one", "2", "01", "1.0", "4294967297", "constructor"].map(
    (text): [string, string, string] => ["choice", text, expected.choice],
  ),
  ...[
    "",
    "1",
    "2026-01-02",
    "2026-01-02T03:04:05",
    "2026-02-30T00:00:00Z",
    "2026-01-02T25:00:00Z",
    "2026-01-02T05:04:05+02:00",
    "%222026-01-02T03:04:05Z%22",
    "0000-12-31T23:59:59Z",
  ].map((text): [string, string, string] => ["time", text, expected.time]),
  ...["", "1", "1h30m", "1.5", "s", "1.0000000001s", "315576000001s", "1s%20"].map(
    (text): [string, string, string] => ["duration", text, expected.duration],
  ),
  ["mask", "page_size", expected.mask],
  ["f64s", "1,,2", expected.f64],
  ["f64s", "", expected.f64],
  ["bools", "true,false", expected.bool],
  ["wrapped", "x", expected.i64],
  ["times", "2026-01-02T03:04:05Z,2026-01-02T03:04:05Z", expected.time],
];

describe("a query value", () => {
  test.each(accepted)("%s=%s", (field, text, value) => {
    expect(decode(`/kinds?${field}=${text}`)).toEqual(value === undefined ? {} : { [field]: value });
  });

  test.each(refused)("%s=%s is refused", (field, text, what) => {
    expect(decode(`/kinds?${field}=${text}`)).toBe(`bad query: ${field}: expected ${what}`);
  });
});

describe("a query name", () => {
  test.each([
    ["/kinds?optional_string=a", { optionalString: "a" }],
    ["/kinds?deep.deep.name=a&deep.name=b", { deep: { deep: { name: "a" }, name: "b" } }],
    ["/kinds?oneDeep.left=a&one_deep.name=b", { oneDeep: { left: "a", name: "b" } }],
    // The JSON name comes first, so the field that bears this proto name is reached by its own JSON name only.
    ["/kinds?second_name=a", { second_name: "a" }],
    ["/kinds?secondName=a", { secondName: "a" }],
    ["/kinds?first=a", { second_name: "a" }],
    ["/kinds?%69%332=5", { i32: 5 }],
    ["/kinds?f64s=1&f64s=2,3", { f64s: [1, 2, 3] }],
    ["/kinds?", {}],
    ["/kinds?&&", {}],
    ["/kinds?string", {}],
    ["/kinds?optionalString", { optionalString: "" }],
    ["/kinds?string=a?b", { string: "a?b" }],
  ])("%s", (target, message) => {
    expect(decode(target)).toEqual(message);
  });

  test.each([
    ["nope=1"],
    ["deep.nope=1"],
    ["nope.name=1"],
    ["String=a"],
    ["=a"],
    [".i32=1"],
    ["deep..name=a"],
    ["deep.=a"],
    ["f64s[]=1"],
    ["f64s%5B0%5D=1"],
    ["__proto__=x"],
    ["__proto__.polluted=x"],
    ["deep.__proto__=x"],
    ["constructor=y"],
    ["$typeName=x"],
    ["toString=x"],
    ["one=x"],
  ])("%s is ignored, and refused when strict", (query) => {
    const [name] = decodeURIComponent(query).split("=");
    expect(decode(`/kinds?${query}`)).toEqual({});
    expect(decode(`/kinds?${query}`, { strict: true })).toBe(
      `bad query: ${name}: there is no such parameter`,
    );
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test.each([
    ["i32=1&i32=1", "i32: it is given more than once"],
    ["optionalString=a&optional_string=a", "optionalString: it is given more than once"],
    ["deep=x", "deep: a message has no text form"],
    ["struct=x", "struct: a message has no text form"],
    ["struct.a=x", "struct: the field has no fields of its own"],
    ["struct.fields.a=x", "struct: the field has no fields of its own"],
    ["value=x", "value: a message has no text form"],
    ["list=x", "list: a message has no text form"],
    ["any=x", "any: a message has no text form"],
    ["time.seconds=5", "time: the field has no fields of its own"],
    ["wrappedI32.value=5", "wrappedI32: the field has no fields of its own"],
    ["string.x=5", "string: the field has no fields of its own"],
    ["times.seconds=5", "times: an item of a list has no name"],
    ["oneString=a&oneChoice=1", "oneChoice: another member of its oneof is set"],
    ["oneDeep.left=a&oneString=b", "oneString: another member of its oneof is set"],
    ["oneString=b&oneDeep.left=a", "oneDeep.left: another member of its oneof is set"],
    ["deep.left=a&deep.right=b", "deep.right: another member of its oneof is set"],
    ["string=%zz", "string: the query is not percent-encoded UTF-8"],
    ["string=%ff", "string: the query is not percent-encoded UTF-8"],
    ["string=%C0%AF", "string: the query is not percent-encoded UTF-8"],
    ["string=%ED%A0%80", "string: the query is not percent-encoded UTF-8"],
    ["string=\u00e9", "string: the query is not percent-encoded UTF-8"],
    ["string=\u20ac", "string: the query is not percent-encoded UTF-8"],
    ["nope=%zz", "nope: the query is not percent-encoded UTF-8"],
    ["%zz=1", "the query is not percent-encoded UTF-8"],
    [`${"deep.".repeat(100)}name=a`, "deep: nested too deeply"],
    ["A2A-Version=1.0&A2A-Version=0.3", "A2A-Version: it is given twice with different values"],
  ])("%s is refused", (query, text) => {
    expect(decode(`/kinds?${query}`)).toBe(`bad query: ${text}`);
  });

  test.each([
    ["/part/labels?labels=x", "labels: a map has no place in an address"],
    ["/part/labels?labels.a=x", "labels: a map has no place in an address"],
  ])("%s is refused", (target, text) => {
    expect(decode(target)).toBe(`bad query: ${text}`);
  });
});

describe("the version parameter", () => {
  const versionOf = (method: string, target: string) => {
    const found = createTranscoder([testService("RulesService")], { strict: true }).match({ method, target });
    return found.kind === "match" ? found.queryVersion : found;
  };

  test.each([
    ["GET", "/kinds?A2A-Version=1.0", "1.0"],
    ["GET", "/kinds?A2A-Version=1.0&A2A-Version=1%2E0", "1.0"],
    ["GET", "/kinds?a2a-version=1.0", "1.0"],
    ["GET", "/kinds?A2A-Version=", ""],
    ["GET", "/kinds", undefined],
    ["POST", "/raw?A2A-Version=0.3&nope=%zz&i32=x", "0.3"],
    ["POST", "/raw?nope=1", undefined],
  ])("%s %s", (method, target, version) => {
    expect(versionOf(method, target)).toBe(version);
  });

  test.each(["/raw?A2A-Version=%zz", "/raw?A2A-Version=1.0&A2A-Version=2.0"])(
    "POST %s is refused although the query is not read",
    (target) => {
      expect(versionOf("POST", target)).toMatchObject({ problem: "bad query" });
    },
  );
});

describe("limits", () => {
  test.each([
    [`/kinds?${"string=a&".repeat(1001)}`, 414],
    [`/kinds?${"&".repeat(1000)}`, 414],
    [`/kinds?string=${"a".repeat(16_384)}`, 414],
    [`/${"a/".repeat(10_000)}`, 414],
    [`/kinds?${"f64s=1&".repeat(999)}f64s=1`, 200],
  ])("%.24s… is answered with %s before it is read", (target, status) => {
    const found = createTranscoder([testService("RulesService")]).match({ method: "GET", target });
    expect(found.kind === "failure" ? found.error.row.http : 200).toBe(status);
  });

  test("are the caller's to set", () => {
    const options = { maxTargetBytes: 20, maxParameters: 1 };
    expect(decode("/kinds?string=123456", options)).toEqual({ string: "123456" });
    expect(decode("/kinds?string=1234567", options)).toBe("target too long: The request target is too long.");
    expect(decode("/kinds?i32=1&u32=2", options)).toBe(
      "target too long: The query has more than 1 parameters.",
    );
  });
});
