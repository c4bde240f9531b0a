import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { explainConfig } from "../../../src/config/explain.js";
import { parseAssignment } from "../../../src/config/layer.js";
import { formatProblems, type LoadOptions, loadConfig } from "../../../src/config/load.js";
import { TEST_TLS } from "../../support/tls.js";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "switchyard-config-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, content: string): string {
  const file = join(directory, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

function load(yaml?: string, options: LoadOptions = {}) {
  if (yaml !== undefined) write("switchyard.yaml", yaml);
  return loadConfig({ directory, ...options });
}

function configOf(yaml?: string, options: LoadOptions = {}) {
  const loaded = load(yaml, options);
  if (loaded.config === undefined) throw new Error(formatProblems(loaded.problems).join("\n"));
  return loaded.config;
}

function problemsOf(yaml?: string, options: LoadOptions = {}): string[] {
  return formatProblems(load(yaml, options).problems);
}

const flag = (name: string, ...[path, value]: [string, unknown]) => ({
  flag: name,
  path: path.split("."),
  value,
});

describe("loadConfig", () => {
  it("has a value for every setting without any source", () => {
    const config = configOf();
    expect(config).toMatchObject({
      http: { host: "127.0.0.1", port: 8080 },
      grpc: { host: "127.0.0.1", port: 50051 },
      store: { path: join(directory, ".switchyard/switchyard.db"), durability: "normal" },
      agents: [{ tenant: "", kind: "echo", busy: "reject", followUps: "resume", idempotency: true }],
      limits: { messageBytes: 10 * 1024 * 1024, depth: 100 },
      runs: { answerGraceMs: 1000, cancelGraceMs: 3000 },
      drainMs: 10_000,
      adminSocket: join(directory, ".switchyard/admin.sock"),
    });
  });

  it("is frozen throughout", () => {
    const config = configOf("agents: [{ card: { name: A } }]");
    expect(Object.isFrozen(config.limits)).toBe(true);
    expect(Object.isFrozen(config.agents[0]?.card)).toBe(true);
  });

  it("lets flags win over the environment, that over the file, and that over defaults", () => {
    const yaml = "http: 127.0.0.1:1\ngrpc: 127.0.0.1:1\nlimits: { depth: 11, targetBytes: 1111 }";
    const environment = { SWITCHYARD_GRPC: "127.0.0.1:2", SWITCHYARD_LIMITS_DEPTH: "22", SWITCHYARD_LOG: "" };
    const flags = [flag("--set", "limits.depth", 33)];
    const config = configOf(yaml, { environment, flags });
    expect([config.http.port, config.grpc]).toEqual([1, { host: "127.0.0.1", port: 2 }]);
    expect(config.limits).toMatchObject({ depth: 33, targetBytes: 1111, headerBytes: 16_384 });
    expect(config.log.level).toBe("info");
  });

  it("writes shorthands out and reads sizes, times, lists and toggles from texts", () => {
    const environment = {
      SWITCHYARD_STORE: "memory",
      SWITCHYARD_LOG: "warn",
      SWITCHYARD_CORS_ORIGINS: "https://a.example, https://b.example:8443",
      SWITCHYARD_DRAIN_MS: "2 m",
    };
    const config = configOf(
      "limits: { messageBytes: 5 MiB }\nagents: [{ idempotency: off, streaming: no-such }]",
      {
        environment,
        flags: [flag("--set", "agents", [{ idempotency: "off" }])],
      },
    );
    expect(config.store).toEqual({ path: "memory", durability: "normal" });
    expect(config.log.level).toBe("warn");
    expect(config.cors.origins).toEqual(["https://a.example", "https://b.example:8443"]);
    expect(config.drainMs).toBe(120_000);
    expect(config.limits.messageBytes).toBe(5_242_880);
    expect(config.agents[0]?.idempotency).toBe(false);
  });

  it("takes paths from the folder of the file that names them, and others from the working directory", () => {
    const file = write(
      "etc/gateway.yaml",
      "store: data/tasks.db\nagents: [{ file: ./agent.ts, card: card.yaml }]",
    );
    const config = configOf(undefined, { file, environment: { SWITCHYARD_ADMIN_SOCKET: "run/admin.sock" } });
    expect(config.store.path).toBe(join(directory, "etc/data/tasks.db"));
    expect(config.agents[0]).toMatchObject({
      kind: "module",
      file: join(directory, "etc/agent.ts"),
      card: join(directory, "etc/card.yaml"),
    });
    expect(config.adminSocket).toBe(join(directory, "run/admin.sock"));
  });

  it("finds its file by flag, environment or name", () => {
    write("a.yaml", "http: 127.0.0.1:1");
    write("b.yaml", "http: 127.0.0.1:2");
    expect(configOf("http: 127.0.0.1:3").http.port).toBe(3);
    expect(configOf(undefined, { environment: { SWITCHYARD_CONFIG: "b.yaml" } }).http.port).toBe(2);
    expect(
      configOf(undefined, { file: "a.yaml", environment: { SWITCHYARD_CONFIG: "b.yaml" } }).http.port,
    ).toBe(1);
    expect(problemsOf(undefined, { file: "none.yaml" })).toEqual(["none.yaml: there is no such file."]);
  });

  it("replaces names of the environment in values", () => {
    const yaml = `
http: \${HOST:-127.0.0.1}:\${PORT}
agents: [{ card: { name: 'a$\${PORT}b' } }]
limits: { depth: '\${D}' }`;
    const config = configOf(yaml, { environment: { PORT: "81", D: "50" } });
    expect(config.http).toEqual({ host: "127.0.0.1", port: 81 });
    expect(config.agents[0]?.card).toEqual({ name: `a\${PORT}b` });
    expect(config.limits.depth).toBe(50);
    expect(problemsOf(`\n\nhttp: 127.0.0.1:\${NOPE}`)).toEqual([
      "switchyard.yaml:3: http: the environment has no NOPE.",
    ]);
  });

  it("reads texts from files, and says when one cannot be read or both are given", () => {
    const pem = write("key.pem", "no key\n");
    const yaml = "tls: { certFile: key.pem, keyFile: none.pem }";
    expect(problemsOf(yaml)).toEqual([
      `switchyard.yaml:1: tls.keyFile: ${join(directory, "none.pem")}: there is no such file.`,
    ]);
    expect(problemsOf("tls: { certFile: key.pem, keyFile: key.pem, key: x }")).toEqual([
      "switchyard.yaml:1: tls.keyFile: give either key or keyFile, not both.",
    ]);
    const loaded = load("tls: { certFile: key.pem, keyFile: key.pem }");
    expect(loaded.files).toEqual([join(directory, "switchyard.yaml"), pem, pem]);
    expect(formatProblems(loaded.problems)[0]).toMatch(
      /^switchyard.yaml:1: tls: certificate and key cannot be used: /,
    );
  });

  it("says when the certificates of authorities are none", () => {
    const { cert, key } = TEST_TLS;
    const loadTls = (clientCa: string) => problemsOf(JSON.stringify({ tls: { cert, key, clientCa } }));
    expect(loadTls(cert)).toEqual([]);
    expect(loadTls("")).toEqual(['switchyard.yaml:1: tls.clientCa: must be PEM certificates, not "".']);
    expect(loadTls(key)).toEqual([
      "switchyard.yaml:1: tls.clientCa: cannot be used: there is no PEM certificate in it.",
    ]);
    expect(loadTls(`${cert}\n${cert.replace("MII", "AAA")}`)[0]).toMatch(/tls\.clientCa: cannot be used: /);
  });
});

describe("problems", () => {
  it("are all found at once, each with its place, the nearest name and what is expected", () => {
    const yaml = `http: 127.0.0.1
limits:
  messageByte: 5 MiB
  depth: 1
agents:
  - kind: ehco
    card: 3
  - busi: queue
    streaming: maybe
publicUrl: ftp://example.com
cors: { origins: https://a.example }
zzz: 1
`;
    const environment = {
      SWITCHYARD_LOG: "infoo",
      SWITCHYARD_LIMIT_DEPTH: "3",
      SWITCHYARD_SERVICE_HOST: "10.0.0.1",
    };
    expect(problemsOf(yaml, { environment, flags: [flag("--grpc", "grpc", "50051")] })).toEqual([
      "SWITCHYARD_LIMIT_DEPTH: there is no such setting. Did you mean SWITCHYARD_LIMITS_DEPTH?",
      "switchyard.yaml:7: agents[0].card: must be a card, or the path of a file with one (YAML or JSON), not 3.",
      'switchyard.yaml:6: agents[0].kind: must be "echo" or "module", not "ehco". Did you mean "echo"?',
      'switchyard.yaml:8: agents[1].busi: there is no such setting; did you mean "busy"?',
      'switchyard.yaml:9: agents[1].streaming: must be true or false, not "maybe".',
      'switchyard.yaml:11: cors.origins: must be a list, not "https://a.example".',
      '--grpc: grpc: must be HOST:PORT such as 127.0.0.1:8080 or [::1]:8080, or "off", not "50051".',
      'switchyard.yaml:1: http: must be HOST:PORT such as 127.0.0.1:8080 or [::1]:8080, not "127.0.0.1".',
      "switchyard.yaml:4: limits.depth: must be a whole number from 2 to 300, not 1.",
      'switchyard.yaml:3: limits.messageByte: there is no such setting; did you mean "messageBytes"?',
      'SWITCHYARD_LOG: log.level: must be one of "trace", "debug", "info", "warn", "error", "fatal", "silent", not "infoo". Did you mean "info"?',
      'switchyard.yaml:10: publicUrl: must be an http or https URL without query and fragment, such as https://agents.example.com, not "ftp://example.com".',
      "switchyard.yaml:12: zzz: there is no such setting.",
    ]);
  });

  it("of settings that do not fit together are found too", () => {
    const yaml = `http: 127.0.0.1:9000
grpc: 127.0.0.1:9000
mounts: { jsonrpc: [/jsonrpc, /tasks], rest: [/jsonrpc] }
agents:
  - tenant: tasks
  - { tenant: x, kind: module }
  - { tenant: x, kind: echo, file: a.ts }
  - tenant: jsonrpc
  - tenant: a/b
`;
    expect(problemsOf(yaml)).toEqual([
      "switchyard.yaml:5: agents[0].tenant: this path belongs to the gateway itself.",
      "switchyard.yaml:6: agents[1].file: is missing; an agent of kind module needs one.",
      "switchyard.yaml:7: agents[2].file: the echo agent has no file; leave out kind.",
      'switchyard.yaml:7: agents[2].tenant: another agent is served at "x".',
      "switchyard.yaml:8: agents[3].tenant: this path is a mount.",
      "switchyard.yaml:9: agents[4].tenant: a tenant has 1 to 128 letters, digits, or _ . ~ -, and begins with a letter or digit.",
      "switchyard.yaml:2: grpc: 127.0.0.1:9000 is already the address of http.",
      "switchyard.yaml:3: mounts.jsonrpc[1]: this path belongs to the gateway itself.",
      "switchyard.yaml:3: mounts.rest[0]: this path is mounted already.",
    ]);
  });

  it.each([
    ["a: [", "switchyard.yaml:1: "],
    ["http: 127.0.0.1:1\nhttp: 127.0.0.1:2", "switchyard.yaml:2: Map keys must be unique."],
    ["agents: &all [*all]", "switchyard.yaml: an alias contains itself."],
    ["- a", "switchyard.yaml: a configuration is a set of settings."],
    ["__proto__: { http: 127.0.0.1:1 }", "switchyard.yaml:1: __proto__: there is no such setting."],
    ["constructor: 1", "switchyard.yaml:1: constructor: there is no such setting."],
  ])("of the file %j itself have their line", (yaml, problem) => {
    const problems = problemsOf(yaml);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  it("never show a secret", () => {
    expect(problemsOf("tls: { cert: a, key: [hunter2] }").join()).not.toContain("hunter2");
  });

  it("are none in an empty file", () => {
    expect(problemsOf("")).toEqual([]);
    expect(problemsOf("# nothing\n")).toEqual([]);
  });
});

describe("explainConfig", () => {
  it("shows every value with its source, and no secret", () => {
    const yaml = "limits:\n  depth: 7\ntls: { cert: c, key: hunter2 }\nagents: [{ tenant: a }, {}]";
    const lines = explainConfig(load(yaml, { flags: [flag("--http", "http", "[::1]:1")] }));
    const rows = lines.map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
    expect(rows).toContainEqual(["http", "[::1]:1", "--http"]);
    expect(rows).toContainEqual(["limits.depth", "7", "switchyard.yaml:2"]);
    expect(rows).toContainEqual(["drainMs", "10 s", "default"]);
    expect(rows).toContainEqual(["publicUrl", "-"]);
    expect(rows).toContainEqual(["tls.key", "(secret)", "switchyard.yaml:3"]);
    expect(rows).toContainEqual(["agents[0].tenant", "a", "switchyard.yaml:4"]);
    expect(rows).toContainEqual(["agents[1].tenant", '""', "default"]);
    expect(lines.join()).not.toContain("hunter2");
  });
});

describe("parseAssignment", () => {
  it("reads a path and a YAML value", () => {
    expect(parseAssignment("limits.depth=50")).toEqual({
      flag: "--set limits.depth",
      path: ["limits", "depth"],
      value: 50,
    });
    expect(parseAssignment("agents=[{ tenant: a }]")?.value).toEqual([{ tenant: "a" }]);
    expect(parseAssignment("publicUrl=http://a?b=c")?.value).toBe("http://a?b=c");
    expect(parseAssignment("http=[::1]:80")?.value).toBe("[::1]:80");
    expect(parseAssignment("depth")).toBeUndefined();
  });
});

describe("the URI of an extension", () => {
  it("is refused when no header could name it", () => {
    for (const uri of ["urn:a,b", "urn:a b", "urn:\u00e4", "urn:a\nb"]) {
      const [problem] = problemsOf(`agents: [{ extensions: [{ uri: ${JSON.stringify(uri)} }] }]`);
      expect(problem).toContain(
        "agents[0].extensions[0].uri: must be a URI in visible ASCII without a comma",
      );
    }
    expect(problemsOf('agents: [{ extensions: [{ uri: "urn:example:a+b" }] }]')).toEqual([]);
  });
});
