import { describe, expect, it } from "vitest";
import { A2AError } from "../../../../src/errors.js";
import { parseJson } from "../../../../src/protocol/json/index.js";

function failure(source: string | Uint8Array, maxDepth?: number): A2AError {
  try {
    parseJson(source, maxDepth === undefined ? {} : { maxDepth });
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(A2AError);
    return thrown as A2AError;
  }
  throw new Error("it was parsed");
}

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("parses", () => {
  it.each([
    `{"a":1,"b":[true,false,null,"x"],"c":{"a":{}}}`,
    ` \t\r\n{ "a" : [ 1 , 2 ] } \n`,
    `"a \\" quoted \\\\ text \\u00e9 {[:,]}"`,
    `{"a\\"b":":","c":"\\\\"}`,
    `"\\ud83d\\ude00 \u{1f600} \u2028"`,
    `[1e2,-0.5,12345678901234567890,0.12345678901234567890,1.5E-3]`,
    `{"":{"":1}}`,
    `{"1":1,"0":0}`,
  ])("%s as JavaScript does", (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
    expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text));
  });
});

describe("malformed texts are PARSE_ERROR", () => {
  it.each([
    "",
    " ",
    "{",
    '{"a":}',
    "{a:1}",
    "[1,]",
    "nul",
    "01",
    "1.",
    '"\n"',
    '{"a":1} x',
    "'a'",
    "NaN",
    '"\\x"',
    '{"a":1,}',
    "\ufeff{}",
    '{"jsonrpc":',
  ])("%j", (text) => {
    expect(failure(text).reason).toBe("PARSE_ERROR");
  });

  it("quotes nothing of the text", () => {
    expect(failure('{"secret": tok-123}').message).toMatch(
      /^The body is not valid JSON\.( It breaks at character \d+\.)?$/,
    );
  });

  it.each([
    [[0x22, 0xff, 0x22]],
    [[0x22, 0xc3, 0x22]],
    [[0x22, 0xed, 0xa0, 0x80, 0x22]],
    [[0x22, 0xc0, 0x80, 0x22]],
  ])("bytes %j that are no UTF-8", (bytes) => {
    const error = failure(Uint8Array.from(bytes));
    expect(error.reason).toBe("PARSE_ERROR");
    expect(error.message).toBe("The body is not valid UTF-8.");
  });
});

describe("what JavaScript lets pass is INVALID_ARGUMENT", () => {
  it.each([
    [`{"a":1,"a":1}`, "a", "must not be given twice"],
    [`{"a":{"b":1,"c":[0,{"d":1,"\\u0064":2}]}}`, "a.c[1].d", "must not be given twice"],
    [`{"a":1,"b":{"c":1,"c":2}}`, "b.c", "must not be given twice"],
    [`{"__proto__":1,"__proto__":2}`, "__proto__", "must not be given twice"],
    [`{"toString":1,"toString":2}`, "toString", "must not be given twice"],
    [`["\\ud800"]`, "[0]", "must not hold half of a surrogate pair"],
    [`["\\uDFFF x"]`, "[0]", "must not hold half of a surrogate pair"],
    [`{"a":"\ud83d"}`, "a", "must not hold half of a surrogate pair"],
    [`{"a":["\\ude00\\ud83d"]}`, "a[0]", "must not hold half of a surrogate pair"],
    [`{"a":1e999}`, "a", "must be a number that a double can hold"],
    [`{"a":-${"9".repeat(400)}}`, "a", "must be a number that a double can hold"],
    [`{"a":0.${"9".repeat(400)}e999}`, "a", "must be a number that a double can hold"],
  ])("%j", (text, field, description) => {
    const error = failure(text);
    expect(error.reason).toBe("INVALID_ARGUMENT");
    expect(error.violations).toEqual([{ field, description }]);
  });

  it("B42: nesting beyond the limit, without parsing it", () => {
    expect(parseJson(nested(100))).toBeInstanceOf(Array);
    for (const text of [nested(101), nested(10_000), "[".repeat(1_000_000), '{"a":'.repeat(10_000)]) {
      const error = failure(text);
      expect(error.reason).toBe("INVALID_ARGUMENT");
      expect(error.message).toBe("The message is nested too deep: more than 100 levels.");
    }
    expect(failure(nested(4), 3).reason).toBe("INVALID_ARGUMENT");
    expect(parseJson(nested(3), { maxDepth: 3 })).toEqual([[[]]]);
  });

  it("brackets in strings nest nothing", () => {
    expect(parseJson(`"${"[".repeat(200)}"`)).toHaveLength(200);
  });
});
