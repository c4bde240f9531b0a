import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Where SDKs, built clients and caches go. */
export const SCRATCH = join(ROOT, ".tmp", "interop");

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** A program, its arguments, and what it needs in its environment and as its folder. */
export interface Command {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A client that others wrote, and the program of ours that tries every operation with it. */
export interface Client {
  /** Name and version, as the table shows it. */
  readonly name: string;
  /** What must be on the machine; the first that is missing. */
  missing(): string | undefined;
  /** Debian packages that bring what is missing. */
  readonly packages: readonly string[];
  /** True when nothing has to be fetched or built. Absent: the steps find out by themselves. */
  installed?(): boolean;
  /** Fetches and builds; each step runs after the one before succeeded. */
  readonly install: readonly Command[];
  /** Prints results for the gateway at `base`, one JSON object a line. */
  run(base: string): Command;
}

function missingProgram(...programs: readonly (readonly [string, ...string[]])[]): string | undefined {
  const missing = programs.find(([program, ...args]) => spawnSync(program, args).status !== 0);
  return missing?.join(" ");
}

function contentOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** A Python environment of its own, with the packages that the folder's `requirements.txt` names. */
function pythonEnvironment(folder: string): Pick<Client, "missing" | "packages" | "installed" | "install"> {
  const requirements = join(HERE, folder, "requirements.txt");
  const environment = join(SCRATCH, folder);
  return {
    missing: () => missingProgram(["python3", "-m", "venv", "--help"]),
    packages: ["python3", "python3-venv"],
    installed: () => contentOf(requirements) === contentOf(join(environment, "requirements.txt")),
    install: [
      { argv: ["python3", "-m", "venv", environment] },
      { argv: [join(environment, "bin", "pip"), "install", "--quiet", "--requirement", requirements] },
      { argv: ["cp", requirements, environment] },
    ],
  };
}

const javaFolder = join(SCRATCH, "java");
const bin = join(SCRATCH, "bin");

/** Debian's name of the browser, and the name that others give it. */
export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));

/** Every client, in the order of the table. */
export const CLIENTS: readonly Client[] = [
  {
    name: "JavaScript 1.3.0",
    missing: () => undefined,
    packages: [],
    install: [],
    run: (base) => ({ argv: ["tsx", join(HERE, "javascript", "main.ts"), base] }),
  },
  {
    name: "Python 1.3.0",
    ...pythonEnvironment("python"),
    run: (base) => ({
      argv: [join(SCRATCH, "python", "bin", "python"), join(HERE, "python", "main.py"), base],
    }),
  },
  {
    name: "Go 2.3.1",
    missing: () => missingProgram(["go", "version"]),
    packages: ["golang-go"],
    install: [{ argv: ["go", "build", "-o", join(bin, "interop-go"), "."], cwd: join(HERE, "go") }],
    run: (base) => ({ argv: [join(bin, "interop-go"), base] }),
  },
  {
    name: "Java 1.0.0.Alpha3",
    missing: () => missingProgram(["java", "-version"], ["mvn", "--version"]),
    packages: ["openjdk-17-jdk-headless", "maven"],
    install: [
      {
        argv: [
          "mvn",
          "--batch-mode",
          "--quiet",
          "compile",
          "dependency:build-classpath",
          `-Dmdep.outputFile=${join(javaFolder, "classpath")}`,
          `-Dbuild.folder=${javaFolder}`,
        ],
        cwd: join(HERE, "java"),
      },
    ],
    run: (base) => ({
      argv: ["sh", "-c", 'exec java -cp "$0/classes:$(cat "$0/classpath")" Interop "$1"', javaFolder, base],
    }),
  },
  {
    name: "grpcurl 1.9.4",
    missing: () => missingProgram(["go", "version"]),
    packages: ["golang-go"],
    installed: () => existsSync(join(bin, "grpcurl")),
    install: [
      {
        argv: ["go", "install", "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4"],
        env: { GOBIN: bin },
      },
    ],
    run: (base) => ({ argv: ["tsx", join(HERE, "grpcurl", "main.ts"), base, join(bin, "grpcurl")] }),
  },
  {
    name: "Chromium",
    missing: () => ((CHROMIUM ?? existsSync("/usr/bin/chromium")) ? undefined : "chromium"),
    packages: ["chromium"],
    install: [],
    run: (base) => ({ argv: ["tsx", join(HERE, "browser", "main.ts"), base] }),
  },
  {
    name: "Documentation",
    missing: () => ((CHROMIUM ?? existsSync("/usr/bin/chromium")) ? undefined : "chromium"),
    packages: ["chromium"],
    install: [],
    run: (base) => ({ argv: ["tsx", join(HERE, "browser", "docs.ts"), base] }),
  },
  {
    name: "Schemathesis 4.32.5",
    ...pythonEnvironment("schemathesis"),
    run: (base) => ({
      argv: [
        "tsx",
        join(HERE, "schemathesis", "main.ts"),
        base,
        join(SCRATCH, "schemathesis", "bin", "schemathesis"),
      ],
    }),
  },
];
