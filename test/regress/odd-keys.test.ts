import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { data } from "../../src/agents/author.js";
import { ownedParts } from "../../src/core/owned.js";
import { readJson, writeJson } from "../../src/protocol/json/index.js";
import { MessageSchema, PartSchema } from "../../src/protocol/schema.js";
import { createMemoryStore } from "../../src/stores/index.js";

const TEXT = '{"data":{"__proto__":{"a":1},"text":"\ufeffmarked"},"metadata":{"__proto__":{"b":2}}}';
const part = () => readJson(PartSchema, TEXT);

describe("a key __proto__ and a byte order mark", () => {
  it("stay in data and metadata that an agent hands over", () => {
    expect(ownedParts([part()]).map((each) => writeJson(PartSchema, each))).toEqual([TEXT]);
  });

  it("stay in data that an agent makes", () => {
    const made = data(JSON.parse('{"__proto__":{"a":1},"n":1}') as JsonObject);
    expect(writeJson(PartSchema, made)).toBe('{"data":{"__proto__":{"a":1},"n":1}}');
  });

  it("stay in an answer that the memory store keeps for a repeated message", async () => {
    const store = createMemoryStore();
    const scope = { tenant: "", owner: "o" };
    const answer = create(MessageSchema, { messageId: "a", parts: [part()] });
    const messageKey = { messageId: "m", digest: "d" };
    await store.commit(scope, "", { kind: "answer", messageKey, answer });
    const kept = await store.byMessage(scope, "m");
    expect(kept?.kind === "answer" && writeJson(PartSchema, kept.answer.parts[0] ?? part())).toBe(TEXT);
    await store.close();
  });
});
