import { type Command, InvalidArgumentError } from "commander";
import { type FlagValue, parseAssignment } from "../config/layer.js";
import { type LoadedConfig, loadConfig } from "../config/load.js";

/** The flags that reach the configuration, as commander gives them. */
export interface ConfigFlags {
  readonly config?: string;
  readonly agent?: string;
  readonly http?: string;
  readonly grpc?: string;
  readonly metrics?: string;
  readonly store?: string;
  readonly publicUrl?: string;
  readonly publicGrpc?: string;
  readonly logLevel?: string;
  readonly adminSocket?: string;
  readonly set?: readonly FlagValue[];
}

/** Where each flag ends up; `config` names the file itself. */
const SHORT_FLAGS = [
  {
    key: "http",
    flag: "--http",
    path: ["http"],
    argument: "<host:port>",
    text: "where the HTTP port listens",
  },
  {
    key: "grpc",
    flag: "--grpc",
    path: ["grpc"],
    argument: "<host:port|off>",
    text: "where the gRPC port listens",
  },
  {
    key: "metrics",
    flag: "--metrics",
    path: ["metrics"],
    argument: "<http|host:port|off>",
    text: "where metrics are",
  },
  { key: "store", flag: "--store", path: ["store"], argument: "<memory|path>", text: "where tasks are kept" },
  {
    key: "publicUrl",
    flag: "--public-url",
    path: ["publicUrl"],
    argument: "<url>",
    text: "base URL that cards name",
  },
  {
    key: "publicGrpc",
    flag: "--public-grpc",
    path: ["publicGrpc"],
    argument: "<host:port>",
    text: "gRPC address that cards name",
  },
  {
    key: "logLevel",
    flag: "--log-level",
    path: ["log"],
    argument: "<level>",
    text: "least severe lines of the log",
  },
  {
    key: "adminSocket",
    flag: "--admin-socket",
    path: ["adminSocket"],
    argument: "<path|off>",
    text: "socket for commands",
  },
] as const;

/** Adds the flags that say where the configuration comes from. */
export function addConfigFlag(command: Command): Command {
  return command.option(
    "-c, --config <file>",
    "configuration file (default: switchyard.yaml, if there is one)",
  );
}

/** Adds the flag with which commands find the running gateway. */
export function addSocketFlag(command: Command): Command {
  return command.option("--admin-socket <path>", "socket of the running gateway");
}

/** Adds every flag that a configuration can be made of. */
export function addConfigFlags(command: Command): Command {
  addConfigFlag(command).option("-a, --agent <file>", "serve the one agent of this module");
  for (const { flag, argument, text } of SHORT_FLAGS) command.option(`${flag} ${argument}`, text);
  return command.option("--set <name=value>", "any other setting; may be repeated", collectAssignment);
}

function collectAssignment(text: string, before: readonly FlagValue[] = []): readonly FlagValue[] {
  const assignment = parseAssignment(text);
  if (assignment === undefined)
    throw new InvalidArgumentError("It has the form name=value, such as limits.depth=50.");
  return [...before, assignment];
}

/** The configuration of the flags, this process' environment and the file. */
export function loadFromFlags(flags: ConfigFlags): LoadedConfig {
  return loadConfig({
    flags: flagValues(flags),
    environment: process.env,
    ...(flags.config !== undefined && { file: flags.config }),
  });
}

function flagValues(flags: ConfigFlags): FlagValue[] {
  const short = SHORT_FLAGS.flatMap(({ key, flag, path }) => {
    const value = flags[key];
    return value === undefined ? [] : [{ flag, path, value }];
  });
  const agent =
    flags.agent === undefined ? [] : [{ flag: "--agent", path: ["agents"], value: [{ file: flags.agent }] }];
  return [...agent, ...short, ...(flags.set ?? [])];
}
