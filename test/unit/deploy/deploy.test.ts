import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import { createProgram } from "../../../src/cli/program.js";
import { loadConfig } from "../../../src/config/load.js";
import { createGateway } from "../../../src/gateway.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** The code blocks of a language in docs/deploy.md. */
function blocks(language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm");
  return [...read("docs/deploy.md").matchAll(pattern)].map(([, content = ""]) => content);
}

/** Fails for a command or a flag that the program does not have. */
function expectKnown([command = "", ...args]: readonly string[]): void {
  const known = createProgram(() => undefined).commands.find((one) => one.name() === command);
  expect(known, command).toBeDefined();
  const flags = known?.options.map(({ long }) => long) ?? [];
  for (const flag of args.filter((one) => one.startsWith("--"))) expect(flags).toContain(flag);
}

function configProblems(content: string): readonly unknown[] {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-deploy-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "switchyard.yaml");
  writeFileSync(file, content);
  return loadConfig({ file }).problems;
}

describe("the image", () => {
  const dockerfile = read("Dockerfile");

  it("copies what there is", () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, list = ""]) =>
      list.split(" "),
    );
    expect(copied).toContain("src");
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const allowed = read(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"));
    expect(allowed.map((line) => line.slice(1)).sort()).toEqual(copied.sort());
  });

  it("starts the program with flags that it has, on the ports that it exposes", () => {
    const [, words = ""] = /^CMD (\["serve".*\])$/m.exec(dockerfile) ?? [];
    const args = JSON.parse(words) as string[];
    expectKnown(args);
    const ports = args.flatMap((arg) => /^0\.0\.0\.0:(\d+)$/.exec(arg)?.[1] ?? []);
    expect(/^EXPOSE (.*)$/m.exec(dockerfile)?.[1]).toBe(ports.join(" "));
    expect(dockerfile).toContain(`fetch('http://127.0.0.1:${ports[0]}/healthz')`);
  });
});

describe("the systemd unit", () => {
  const [unit = ""] = blocks("ini");

  it("calls the program with commands and flags that it has", () => {
    const calls = [...unit.matchAll(/^ExecStart(?:Pre)?=\/usr\/bin\/switchyard (.*)$/gm)];
    expect(calls).toHaveLength(2);
    for (const [, call = ""] of calls) expectKnown(call.split(" "));
  });

  it("waits longer than streams may go on", () => {
    const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
    expect(seconds * 1000).toBeGreaterThan(loadConfig().config?.drainMs ?? Number.POSITIVE_INFINITY);
  });
});

describe("the TLS example", () => {
  it("names settings that there are", () => {
    const example = blocks("yaml").find((block) => block.startsWith("tls:")) ?? "";
    const problems = configProblems(example) as { readonly path: string[]; readonly text: string }[];
    // Its files are on another machine.
    expect(problems.map(({ path }) => path.join("."))).toEqual([
      "tls.certFile",
      "tls.keyFile",
      "tls.clientCaFile",
    ]);
    for (const { text } of problems) expect(text).toContain("there is no such file.");
  });
});

interface Probe {
  readonly httpGet: { readonly path: string };
}

describe("the Kubernetes example", () => {
  const yaml = blocks("yaml").find((block) => block.includes("kind: Deployment")) ?? "";
  const objects = parseAllDocuments(yaml).map((document) => document.toJS());
  const settings = objects.find(({ kind }) => kind === "ConfigMap").data["switchyard.yaml"] as string;
  const pod = objects.find(({ kind }) => kind === "Deployment").spec.template.spec;
  const [container] = pod.containers;

  it("has a configuration without problems", () => {
    expect(configProblems(settings)).toEqual([]);
  });

  it("starts the program with flags that it has", () => expectKnown(container.args));

  it("waits longer than streams may go on", () => {
    const [, seconds] = /drainMs: (\d+) s/.exec(settings) ?? [];
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds));
  });

  it("mounts the volumes that it has, and asks the ports that listen", () => {
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name);
    expect(mounted.sort()).toEqual(pod.volumes.map(({ name }: { name: string }) => name).sort());
    for (const { containerPort } of container.ports) expect(settings).toContain(`0.0.0.0:${containerPort}`);
  });

  it("probes addresses that answer", async () => {
    const gateway = await createGateway({
      http: { host: "127.0.0.1", port: 0 },
      grpc: false,
      store: { kind: "memory" },
      agents: [],
    });
    const { http } = await gateway.start();
    onTestFinished(() => gateway.close());
    const probes: Probe[] = [container.startupProbe, container.readinessProbe, container.livenessProbe];
    for (const { httpGet } of probes) {
      const { status } = await fetch(`${http?.url}${httpGet.path}`);
      expect(status, httpGet.path).toBe(200);
    }
  });
});
