import { readFileSync } from "node:fs";
import {
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  getOption,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { FieldDescriptorProto_Type, FileOptionsSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.js";
import { method_signature } from "../../gen/google/api/client_pb.js";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { file_lf_a2a_v1_a2a as contract } from "../../src/protocol/schema.js";

/** The facts in the form of `test/wire/wire-facts.json`. */
type Facts = Record<string, unknown> & { service: { methods: { name: string; http: HttpFacts }[] } };
type HttpFacts = Record<string, unknown> & { additional_bindings: Record<string, string>[] };

const SUBSCRIBE_POST = ["/tasks/{id=*}:subscribe", "/{tenant}/tasks/{id=*}:subscribe"];

function statedFacts(): Facts {
  const path = new URL("../wire/wire-facts.json", import.meta.url);
  const { about: _, ...facts } = JSON.parse(readFileSync(path, "utf8"));
  return facts;
}

/** The stated facts with the one documented addition of ours: SubscribeToTask by POST. */
function expectedFacts(): Facts {
  const facts = statedFacts();
  const subscribe = facts.service.methods.find(({ name }) => name === "SubscribeToTask");
  subscribe?.http.additional_bindings.push(...SUBSCRIBE_POST.map((post) => ({ post })));
  return facts;
}

function builtFacts(file: DescFile): unknown {
  return {
    syntax: file.proto.syntax,
    package: file.proto.package,
    imports: file.proto.dependency,
    options: file.proto.options ? setFields(FileOptionsSchema, file.proto.options) : {},
    service: file.services.map((service) => ({
      name: service.name,
      methods: service.methods.map(method),
    }))[0],
    messages: file.messages.map(({ name, fields }) => ({ name, fields: fields.map(field) })),
    nested: file.messages.flatMap(({ nestedMessages, nestedEnums }) => [...nestedMessages, ...nestedEnums]),
    enums: file.enums.map(({ name, values }) => ({
      name,
      values: values.map((value) => ({ number: value.number, name: value.name })),
    })),
  };
}

function setFields(schema: DescMessage, message: Message): Record<string, unknown> {
  const view = reflect(schema, message);
  return Object.fromEntries(
    view.sortedFields.filter((field) => view.isSet(field)).map((field) => [field.name, view.get(field)]),
  );
}

function method(desc: DescMethod): unknown {
  return {
    name: desc.name,
    input: desc.input.typeName,
    output: desc.output.typeName,
    kind: desc.methodKind,
    http: httpRule(getOption(desc, http)),
    method_signature: getOption(desc, method_signature),
  };
}

function httpRule(rule: HttpRule): unknown {
  const { pattern, selector, responseBody } = rule;
  return {
    ...(selector && { selector }),
    ...(pattern.case && { [pattern.case]: pattern.value }),
    ...(rule.body && { body: rule.body }),
    ...(responseBody && { response_body: responseBody }),
    ...(rule.additionalBindings.length && { additional_bindings: rule.additionalBindings.map(httpRule) }),
  };
}

function field(desc: DescField): unknown {
  return {
    number: desc.number,
    name: desc.name,
    json: desc.jsonName,
    type: typeText(desc),
    ...(desc.oneof && { oneof: desc.oneof.name }),
    ...behaviours(desc),
    ...(desc.deprecated && { deprecated: true }),
  };
}

function behaviours(desc: DescField): object {
  const found = getOption(desc, field_behavior);
  if (found.length === 0) return {};
  return found.length === 1 && found[0] === FieldBehavior.REQUIRED
    ? { required: true }
    : { behaviours: found };
}

function typeText(desc: DescField): string {
  if (desc.fieldKind === "map") return `map<${ScalarType[desc.mapKey].toLowerCase()}, ${elementText(desc)}>`;
  if (desc.fieldKind === "list") return `repeated ${elementText(desc)}`;
  return desc.proto.proto3Optional ? `optional ${elementText(desc)}` : elementText(desc);
}

function elementText(desc: DescField): string {
  if (desc.scalar !== undefined) return ScalarType[desc.scalar].toLowerCase();
  return (desc.message ?? desc.enum)?.typeName ?? FieldDescriptorProto_Type[desc.proto.type];
}

describe("the contract (S1-01, S1-02)", () => {
  it("states the wire facts of A2A 1.0 and one additional binding, nothing less and nothing else", () => {
    expect(builtFacts(contract)).toStrictEqual(expectedFacts());
  });

  it("has eleven methods in one service, each with a twin for tenants", () => {
    expect(contract.services).toHaveLength(1);
    const methods = contract.services[0]?.methods ?? [];
    expect(methods).toHaveLength(11);
    for (const desc of methods) {
      const rule = getOption(desc, http);
      const all = [rule, ...rule.additionalBindings].map(({ pattern }) => `${pattern.case} ${pattern.value}`);
      const plain = all.filter((text) => !text.includes("{tenant}"));
      expect(all.sort(), desc.name).toEqual([...plain, ...plain.map(withTenant)].sort());
    }
  });

  it("declares nothing beside messages, enums and the service", () => {
    expect(contract.extensions).toEqual([]);
    expect(contract.proto.publicDependency).toEqual([]);
    expect(contract.messages.flatMap((message) => message.nestedExtensions)).toEqual([]);
    const plain = [
      ...contract.messages,
      ...contract.enums,
      ...contract.enums.flatMap(({ values }) => values),
    ];
    expect(plain.filter(({ proto }) => proto.options !== undefined)).toEqual([]);
  });

  it("tells a missing fact, a changed one and an extra one", () => {
    const facts = JSON.stringify(builtFacts(contract));
    const changes = [
      [/"required":true/, '"required":false'],
      [/"optional int32"/, '"int32"'],
      [/,"oneof":"content"/, ""],
      [/"number":8,"name":"TASK_STATE_AUTH_REQUIRED"/, '"number":9,"name":"TASK_STATE_AUTH_REQUIRED"'],
    ] as const;
    for (const [from, to] of changes) {
      const changed = facts.replace(from, to);
      expect(changed).not.toBe(facts);
      expect(JSON.parse(changed)).not.toEqual(expectedFacts());
    }
  });
});

function withTenant(rule: string): string {
  return rule.replace(" /", " /{tenant}/");
}
