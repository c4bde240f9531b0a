import { type DescMessage, fromJsonString, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../../src/errors.js";
import { readJson, toJsonValue } from "../../../../src/protocol/json/index.js";
import {
  AgentCardSchema,
  ListTasksRequestSchema,
  PartSchema,
  SendMessageRequestSchema,
} from "../../../../src/protocol/schema.js";
import { testMessage } from "../../../support/test-protos.js";

const Kinds = testMessage("Kinds");
const Q = testMessage("Q");

function failure(schema: DescMessage, text: string, strict = false): A2AError {
  try {
    readJson(schema, text, { strict });
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(A2AError);
    return thrown as A2AError;
  }
  throw new Error(`${text} was read`);
}

/** Read and written again. */
function through(schema: DescMessage, text: string): JsonValue {
  return toJsonValue(schema, readJson(schema, text));
}

describe("reads (S1-03)", () => {
  const cases: readonly (readonly [DescMessage, string, JsonValue])[] = [
    [Q, `{"nope":1,"alsoNope":{"a":[{"b":null}]}}`, {}],
    [Q, `{"status":7,"many":[0,9,"S_WORKING"]}`, { status: 7, many: ["S_UNSPECIFIED", 9, "S_WORKING"] }],
    [Q, `{"context_id":"a"}`, { contextId: "a" }],
    [Q, `{"customName":"a"}`, { customName: "a" }],
    [Q, `{"renamed":"a"}`, { customName: "a" }],
    [
      Kinds,
      `{"second_name":"of first","secondName":"of second"}`,
      { second_name: "of first", secondName: "of second" },
    ],
    [Q, `{"contextId":null,"tags":null,"labels":null,"in":null,"status":null,"wb":null,"after":null}`, {}],
    [Q, `{"a":null,"b":1}`, { b: 1 }],
    [Q, `{"pageSize":0,"includeArtifacts":false}`, { pageSize: 0, includeArtifacts: false }],
    [Q, `{"pageSize":1e1}`, { pageSize: 10 }],
    [Q, `{"pageSize":1.0}`, { pageSize: 1 }],
    [Q, `{"pageSize":"10"}`, { pageSize: 10 }],
    [Q, `{"pageSize":"1e1"}`, { pageSize: 10 }],
    [Q, `{"pageSize":-2147483648}`, { pageSize: -2147483648 }],
    [Q, `{"u":4294967295}`, { u: 4294967295 }],
    [Q, `{"big":9007199254740993}`, { big: "9007199254740993" }],
    [Q, `{"big":"9007199254740993"}`, { big: "9007199254740993" }],
    [Q, `{"big":9223372036854775807}`, { big: "9223372036854775807" }],
    [Q, `{"big":-9223372036854775808}`, { big: "-9223372036854775808" }],
    [Q, `{"big":9223372036854775807.0}`, { big: "9223372036854775807" }],
    [Q, `{"big":922337203685477580.7e1}`, { big: "9223372036854775807" }],
    [Q, `{"big":"1e3"}`, { big: "1000" }],
    [Q, `{"big":1e18}`, { big: "1000000000000000000" }],
    [Q, `{"big":5}`, { big: "5" }],
    [Q, `{"wi":9007199254740993}`, { wi: "9007199254740993" }],
    [
      Kinds,
      `{"u64":18446744073709551615,"textI64":9007199254740993}`,
      { u64: "18446744073709551615", textI64: "9007199254740993" },
    ],
    [Kinds, `{"u64s":[9007199254740993,1]}`, { u64s: ["9007199254740993", "1"] }],
    [Kinds, `{"value":[9007199254740993]}`, { value: [9007199254740992] }],
    [
      Kinds,
      `{"struct":{"a":{"b":[9007199254740993,null]},"c":1}}`,
      { struct: { a: { b: [9007199254740992, null] }, c: 1 } },
    ],
    [Q, `{"d":9007199254740993}`, { d: 9007199254740992 }],
    [Q, `{"d":"NaN"}`, { d: "NaN" }],
    [Q, `{"d":"-Infinity"}`, { d: "-Infinity" }],
    [Q, `{"d":1.5e300}`, { d: 1.5e300 }],
    [Q, `{"d":"1.5"}`, { d: 1.5 }],
    [Q, `{"d":1e-400}`, {}],
    [Kinds, `{"f32":3.4028234e38}`, { f32: 3.4028234e38 }],
    [Q, `{"raw":"-_8"}`, { raw: "+/8=" }],
    [Q, `{"raw":"+/8="}`, { raw: "+/8=" }],
    [Q, `{"raw":"-_8="}`, { raw: "+/8=" }],
    [Q, `{"raw":""}`, {}],
    [Q, `{"after":"2026-01-02T05:04:05.5+02:00"}`, { after: "2026-01-02T03:04:05.500Z" }],
    [Q, `{"after":"2026-01-02T03:04:05.123456789Z"}`, { after: "2026-01-02T03:04:05.123456789Z" }],
    [Q, `{"after":"2026-01-02T03:04:05.000001Z"}`, { after: "2026-01-02T03:04:05.000001Z" }],
    [Q, `{"after":"0001-01-01T00:00:00Z"}`, { after: "0001-01-01T00:00:00Z" }],
    [Q, `{"after":"9999-12-31T23:59:59.999999999Z"}`, { after: "9999-12-31T23:59:59.999999999Z" }],
    [Q, `{"after":"1969-12-31T23:59:59.5Z"}`, { after: "1969-12-31T23:59:59.500Z" }],
    [Q, `{"dur":"1.5s"}`, { dur: "1.500s" }],
    [Q, `{"dur":"-0.000000001s"}`, { dur: "-0.000000001s" }],
    [Q, `{"dur":"-315576000000s"}`, { dur: "-315576000000s" }],
    [Q, `{"dur":"0s"}`, { dur: "0s" }],
    [Q, `{"mask":"contextId,in.leafName"}`, { mask: "contextId,in.leafName" }],
    [Q, `{"mask":""}`, { mask: "" }],
    [Q, `{"wb":false,"wi":"0","ws":""}`, { wb: false, wi: "0", ws: "" }],
    [Kinds, `{"wrapped":["1",2]}`, { wrapped: ["1", "2"] }],
    [Kinds, `{"oneWrapped":"7"}`, { oneWrapped: "7" }],
    [Kinds, `{"choice":"CHOICE_UNO"}`, { choice: "CHOICE_ONE" }],
    [Kinds, `{"choice":-1}`, { choice: "CHOICE_BELOW" }],
    [Kinds, `{"value":null}`, { value: null }],
    [Kinds, `{"struct":{"a":null,"b":[null,{"c":null}]}}`, { struct: { a: null, b: [null, { c: null }] } }],
    [Kinds, `{"list":[null,1,"a",{}]}`, { list: [null, 1, "a", {}] }],
    [
      Kinds,
      `{"any":{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"R","domain":"d"}}`,
      { any: { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "R", domain: "d" } },
    ],
    [
      Kinds,
      `{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}`,
      { any: { "@type": "type.googleapis.com/google.protobuf.Duration", value: "1s" } },
    ],
    [
      Kinds,
      `{"any":{"@type":"example.com/other.Type","value":"AQI="}}`,
      { any: { "@type": "example.com/other.Type", value: "AQI=" } },
    ],
    [Kinds, `{"any":{}}`, { any: {} }],
    [PartSchema, `{"data":null}`, { data: null }],
    [PartSchema, `{"data":{"revision":7.0}}`, { data: { revision: 7 } }],
    [ListTasksRequestSchema, `{"pageSize":2,"page_token":"x"}`, { pageSize: 2, pageToken: "x" }],
    [StructSchema, `{"a":{"b":[1,true,null]}}`, { a: { b: [1, true, null] } }],
  ];

  it.each(cases)("%s %s", (schema, text, expected) => {
    expect(through(schema, text)).toEqual(expected);
  });

  it.each(cases.map(([schema, text]) => [schema, text] as const))(
    "%s %s as protobuf does",
    (schema, text) => {
      let theirs: ReturnType<typeof fromJsonString>;
      try {
        theirs = fromJsonString(schema, text, { ignoreUnknownFields: true });
      } catch {
        return; // It knows no google.rpc types, no "1e3" for 64 bits, and no long number without quotes.
      }
      if (!/\d{16}/.test(text))
        expect(toBinary(schema, readJson(schema, text))).toEqual(toBinary(schema, theirs));
    },
  );
});

describe("refuses with the path (S1-03)", () => {
  const int32 = "must be between -2147483648 and 2147483647";
  const int64 = "must be between -9223372036854775808 and 9223372036854775807";
  const range = "must be within the range of its type";
  const timestamp = "must be an RFC 3339 timestamp";
  const cases: readonly (readonly [DescMessage, string, string, string])[] = [
    [Q, `{"status":"S_NOPE"}`, "status", "must be a name of S"],
    [Q, `{"status":"s_working"}`, "status", "must be a name of S"],
    [Q, `{"status":"1"}`, "status", "must be a name of S"],
    [Q, `{"status":1.5}`, "status", "must be an integer"],
    [Q, `{"status":true}`, "status", "must be an integer"],
    [Q, `{"status":9007199254740993}`, "status", int32],
    [Q, `{"many":[1,"S_NOPE"]}`, "many[1]", "must be a name of S"],
    [Q, `{"contextId":1}`, "contextId", "must be a string"],
    [Q, `{"contextId":9007199254740993}`, "contextId", "must be a string"],
    [Q, `{"flag":"true"}`, "flag", "must be true or false"],
    [Q, `{"flag":1}`, "flag", "must be true or false"],
    [Q, `{"pageSize":1.5}`, "pageSize", "must be an integer"],
    [Q, `{"pageSize":2147483648}`, "pageSize", int32],
    [Q, `{"pageSize":1e10}`, "pageSize", int32],
    [Q, `{"pageSize":""}`, "pageSize", "must be an integer"],
    [Q, `{"pageSize":" 1"}`, "pageSize", "must be an integer"],
    [Q, `{"pageSize":"0x10"}`, "pageSize", "must be an integer"],
    [Q, `{"pageSize":"+1"}`, "pageSize", "must be an integer"],
    [Q, `{"pageSize":"01"}`, "pageSize", "must be an integer"],
    [Q, `{"pageSize":true}`, "pageSize", "must be an integer"],
    [Q, `{"u":-1}`, "u", "must be between 0 and 4294967295"],
    [Q, `{"u":12345678901234567890}`, "u", "must be between 0 and 4294967295"],
    [Q, `{"big":9223372036854775808}`, "big", int64],
    [Q, `{"big":"9223372036854775808"}`, "big", int64],
    [Q, `{"big":1.5}`, "big", "must be an integer"],
    [Q, `{"big":9007199254740993.5}`, "big", "must be an integer"],
    [Q, `{"big":"1e999999999"}`, "big", "must be an integer"],
    [Q, `{"big":{}}`, "big", "must be an integer"],
    [Kinds, `{"u64":-1}`, "u64", "must be between 0 and 18446744073709551615"],
    [Kinds, `{"u64":18446744073709551616}`, "u64", "must be between 0 and 18446744073709551615"],
    [Kinds, `{"wrapped":[9223372036854775808]}`, "wrapped[0]", int64],
    [Q, `{"d":"1e400"}`, "d", range],
    [Q, `{"d":1e400}`, "d", "must be a number that a double can hold"],
    [Q, `{"d":""}`, "d", "must be a number"],
    [Q, `{"d":"infinity"}`, "d", "must be a number"],
    [Q, `{"d":[]}`, "d", "must be a number"],
    [Kinds, `{"f32":3.5e38}`, "f32", range],
    [Kinds, `{"value":{"a":[1e999]}}`, "value.a[0]", "must be a number that a double can hold"],
    [Q, `{"raw":"a"}`, "raw", "must be base64"],
    [Q, `{"raw":"AQI=="}`, "raw", "must be base64"],
    [Q, `{"raw":"AQI=AQI="}`, "raw", "must be base64"],
    [Q, `{"raw":"A Q I="}`, "raw", "must be base64"],
    [Q, `{"raw":"===="}`, "raw", "must be base64"],
    [Q, `{"raw":[1,2]}`, "raw", "must be base64"],
    [Q, `{"after":"2026-02-30T00:00:00Z"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02T24:00:00Z"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02T03:04:60Z"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02T03:04:05"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02 03:04:05Z"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02t03:04:05z"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02T03:04:05.1234567890Z"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02T03:04:05+24:00"}`, "after", timestamp],
    [Q, `{"after":"2026-01-02T03:04:05Z\\n"}`, "after", timestamp],
    [Q, `{"after":"0000-01-01T00:00:00Z"}`, "after", "must be between the years 1 and 9999"],
    [Q, `{"after":"0001-01-01T00:00:00+00:01"}`, "after", "must be between the years 1 and 9999"],
    [Q, `{"after":"9999-12-31T23:59:59-00:01"}`, "after", "must be between the years 1 and 9999"],
    [Q, `{"after":1}`, "after", timestamp],
    [Q, `{"dur":"1h30m"}`, "dur", 'must be a duration in seconds, like "1.5s"'],
    [Q, `{"dur":"1"}`, "dur", 'must be a duration in seconds, like "1.5s"'],
    [Q, `{"dur":".5s"}`, "dur", 'must be a duration in seconds, like "1.5s"'],
    [Q, `{"dur":"315576000001s"}`, "dur", "must not be longer than 10000 years"],
    [Q, `{"mask":"context_id"}`, "mask", "must hold field names in lowerCamelCase"],
    [Q, `{"mask":["contextId"]}`, "mask", "must be a comma separated list of field names"],
    [Q, `{"wb":{"value":true}}`, "wb", "must be true or false"],
    [Q, `{"tags":[null]}`, "tags[0]", "must not be null"],
    [Q, `{"tags":"a"}`, "tags", "must be a list"],
    [Q, `{"ins":[{},null]}`, "ins[1]", "must not be null"],
    [Q, `{"ins":[{},[]]}`, "ins[1]", "must be an object"],
    [Q, `{"in":"x"}`, "in", "must be an object"],
    [Q, `{"in":9007199254740993}`, "in", "must be an object"],
    [Q, `{"in":{"child":{"child":{"tags":[1]}}}}`, "in.child.child.tags[0]", "must be a string"],
    [Q, `{"labels":{"a":null}}`, "labels.a", "must not be null"],
    [Q, `{"labels":{"odd key":1}}`, 'labels["odd key"]', "must be a string"],
    [Q, `{"labels":[]}`, "labels", "must be an object"],
    [Q, `{"a":"x","b":1}`, "b", "must not be given together with a"],
    [Q, `{"contextId":"a","context_id":"a"}`, "contextId", "must not be given under both its names"],
    [Q, `{"context_id":null,"contextId":"a"}`, "contextId", "must not be given under both its names"],
    [PartSchema, `{"data":null,"text":"x"}`, "text", "must not be given together with data"],
    [Kinds, `{"struct":[]}`, "struct", "must be an object"],
    [Kinds, `{"list":{}}`, "list", "must be a list"],
    [Kinds, `{"any":{"reason":"R"}}`, 'any["@type"]', "must be a type URL"],
    [Kinds, `{"any":{"@type":"example.com/other.Type","a":1}}`, "any", "must be base64"],
    [
      SendMessageRequestSchema,
      `{"message":{"parts":[{"text":"a"},{"raw":"?"}]}}`,
      "message.parts[1].raw",
      "must be base64",
    ],
    [
      AgentCardSchema,
      `{"securitySchemes":{"key":{"apiKeySecurityScheme":{"name":1}}}}`,
      "securitySchemes.key.apiKeySecurityScheme.name",
      "must be a string",
    ],
  ];

  it.each(cases)("%s %s", (schema, text, field, description) => {
    const error = failure(schema, text);
    expect(error.reason).toBe("INVALID_ARGUMENT");
    expect(error.message).toBe(`${field}: ${description}`);
    expect(error.violations).toEqual([{ field, description }]);
  });

  it.each(["[]", "null", "1", '"a"', "true", "9007199254740993"])("a message that is %s", (text) => {
    const error = failure(Q, text);
    expect(error.reason).toBe("INVALID_ARGUMENT");
    expect(error.message).toBe("The message must be an object.");
    expect(error.violations).toEqual([{ field: "", description: "must be an object" }]);
  });
});

describe("strict reading", () => {
  it.each([
    [`{"nope":1}`, "nope"],
    [`{"in":{"child":{"__proto__":null}}}`, "in.child.__proto__"],
    [`{"ins":[{"a b":1}]}`, 'ins[0]["a b"]'],
  ])("refuses the unknown field of %s", (text, field) => {
    expect(failure(Q, text, true).violations).toEqual([{ field, description: "is not a known field" }]);
    expect(through(Q, text)).toBeTypeOf("object");
  });
});

describe("keys that JavaScript treats in its own way", () => {
  it.each([
    [Kinds, `{"struct":{"__proto__":{"polluted":true},"constructor":1,"toString":null}}`],
    [Kinds, `{"value":{"__proto__":{"polluted":true},"a":[{"__proto__":1}]}}`],
    [Q, `{"labels":{"__proto__":"x","hasOwnProperty":"y"}}`],
    [StructSchema, `{"__proto__":{"polluted":true}}`],
  ])("%s %s comes back as it was", (schema, text) => {
    expect(JSON.stringify(through(schema, text))).toBe(text);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("__proto__ with a long number beside it stays too", () => {
    expect(JSON.stringify(through(Kinds, `{"struct":{"__proto__":[1e17]}}`))).toBe(
      `{"struct":{"__proto__":[100000000000000000]}}`,
    );
  });

  it("an unknown __proto__ field is ignored", () => {
    expect(through(Q, `{"__proto__":{"contextId":"x"},"constructor":{}}`)).toEqual({});
  });
});
