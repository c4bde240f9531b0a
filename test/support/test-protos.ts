import { execFileSync } from "node:child_process";
import {
  createFileRegistry,
  type DescMessage,
  type DescService,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const PACKAGE = "switchyard.test.v1";

let registry: FileRegistry | undefined;

/** The descriptors under test/proto, built on first use: they serve tests only and have no generated code. */
export function testProtos(): FileRegistry {
  registry ??= createFileRegistry(
    fromBinary(
      FileDescriptorSetSchema,
      execFileSync("node_modules/.bin/buf", ["build", "test/proto", "-o", "-#format=binpb"]),
    ),
  );
  return registry;
}

/** A service of test/proto by its short name. */
export function testService(name: string): DescService {
  return found(testProtos().getService(`${PACKAGE}.${name}`), name);
}

/** A message of test/proto by its short name. */
export function testMessage(name: string): DescMessage {
  return found(testProtos().getMessage(`${PACKAGE}.${name}`), name);
}

function found<T>(desc: T | undefined, name: string): T {
  if (desc === undefined) throw new Error(`test/proto has no ${name}`);
  return desc;
}
