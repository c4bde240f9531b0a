import { z } from "zod";
import { agentSchema } from "./agent-schema.js";
import {
  address,
  baseUrl,
  choice,
  count,
  duration,
  durationOrOff,
  fileText,
  path,
  pattern,
  secret,
  size,
} from "./values.js";

function section<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  return z
    .strictObject(shape)
    .prefault({} as never)
    .describe(description);
}

const mountPath = pattern("a path such as /jsonrpc, without a slash at its end", /^(\/[A-Za-z0-9_.~-]+)+$/);

/** Every setting, with its default and its documentation. Unknown keys are refused. */
export const configSchema = z.strictObject({
  http: address()
    .prefault("127.0.0.1:8080")
    .describe("Where the HTTP port listens: JSON-RPC, REST, Connect, gRPC-Web, cards, health."),
  grpc: address("off").prefault("127.0.0.1:50051").describe("Where the gRPC port listens."),
  metrics: address("http", "off")
    .prefault("http")
    .describe("`http`: `/metrics` on the HTTP port. `HOST:PORT`: on an address of its own."),
  tls: z
    .strictObject({
      cert: fileText("a PEM certificate chain").describe("Certificate chain, PEM."),
      key: secret("a PEM private key").describe("Private key, PEM."),
      clientCa: fileText("PEM certificates")
        .optional()
        .describe(
          "Certificates of authorities, PEM. Every client must show a certificate that one of them has signed. Unset: none is asked for.",
        ),
    })
    .optional()
    .describe("TLS on the HTTP and gRPC ports. Unset: cleartext."),
  publicUrl: baseUrl()
    .optional()
    .describe(
      "Base URL of the HTTP port as clients reach it; cards name it. Unset: the address that the port listens on.",
    ),
  publicGrpc: address()
    .optional()
    .describe(
      "`HOST:PORT` of the gRPC port as clients reach it. Unset: the host of `publicUrl` with the port that gRPC listens on.",
    ),
  store: section("Where tasks are kept. A text alone is the `path`.", {
    path: path("a path, or memory", "memory")
      .prefault(".switchyard/switchyard.db")
      .describe(
        "SQLite file with the tasks; it and its folder are made when missing. `memory`: tasks end with the process.",
      ),
    durability: choice("normal", "full")
      .prefault("normal")
      .describe(
        "`normal`: what was answered survives a crash of the program. `full`: a loss of power as well, and each write costs more.",
      ),
  }),
  agents: z
    .array(agentSchema)
    .min(1)
    .prefault([{ kind: "echo" }])
    .describe("The agents. Unset: the built-in echo agent."),
  cards: section("How cards are served.", {
    preference: z
      .array(choice("JSONRPC", "GRPC", "HTTP+JSON"))
      .prefault(["JSONRPC", "GRPC", "HTTP+JSON"])
      .describe(
        "Order in which cards list the official bindings. Those left out follow in the default order.",
      ),
    maxAgeSeconds: count(0, 31_536_000).prefault(60).describe("How long clients may keep a card."),
  }),
  mounts: section(
    "Further path prefixes of a binding. They are looked at first and taken off before matching.",
    {
      jsonrpc: z.array(mountPath).prefault([]).describe("Paths under which JSON-RPC is served as well."),
      rest: z.array(mountPath).prefault([]).describe("Paths under which REST is served as well."),
    },
  ),
  cors: section("Calls from browsers.", {
    origins: z
      .array(pattern("an origin such as https://app.example.com, or *", /^(\*|https?:\/\/[^\s/]+)$/))
      .prefault([])
      .describe("Origins whose pages may call the HTTP port from a browser; `*` is any. Empty: none."),
  }),
  limits: section(
    "What a request may cost. A larger message is refused with the wire's own form of RESOURCE_EXHAUSTED, larger metadata and deeper nesting with that of INVALID_ARGUMENT.",
    {
      messageBytes: size(1024, 2_147_483_647).prefault("10 MiB").describe("Largest message, on every wire."),
      metadataBytes: size(0, 2_147_483_647)
        .prefault("64 KiB")
        .describe("Largest metadata of a message or request, as JSON."),
      depth: count(2, 300)
        .prefault(100)
        .describe("Levels of objects and lists that a message may have as JSON, whichever wire carries it."),
      headerBytes: size(1024, 1_048_576).prefault("16 KiB").describe("Largest header section of a request."),
      targetBytes: size(256, 1_048_576).prefault("8 KiB").describe("Longest request target, query included."),
      headersMs: duration(100)
        .prefault("15 s")
        .describe("How long the headers of a request may take to arrive."),
      requestMs: duration(100).prefault("60 s").describe("How long a whole request may take to arrive."),
      idleMs: duration(100)
        .prefault("30 s")
        .describe("How long a connection without a request is kept; over HTTP/2 ten times that."),
    },
  ),
  versions: section("Protocol versions.", {
    assume: choice("1.0")
      .optional()
      .describe(
        "Protocol version of calls that name none. Unset: 0.3, as the specification says, which is refused.",
      ),
  }),
  streams: section("Streams.", {
    heartbeatMs: duration(100)
      .prefault("15 s")
      .describe("Pause after which an idle event stream carries a comment, so that proxies keep it open."),
  }),
  runs: section("How agents are run.", {
    answerGraceMs: duration(0, 600_000)
      .prefault("1 s")
      .describe("How long an agent may take to answer before its answer becomes a task."),
    cancelGraceMs: duration(0, 600_000)
      .prefault("3 s")
      .describe("How long a cancelled agent may take to stop."),
    stallMs: durationOrOff(100)
      .prefault("5 s")
      .describe("How long one agent may keep the process from doing anything else before the log names it."),
  }),
  retention: section("When tasks are forgotten.", {
    finishedMs: durationOrOff(1000)
      .prefault("off")
      .describe("How long tasks are kept that have ended. `off`: for ever."),
    waitingMs: durationOrOff(1000)
      .prefault("off")
      .describe("How long tasks are kept that wait for input or authorization. `off`: for ever."),
    messageIdsMs: durationOrOff(1000)
      .prefault("off")
      .describe("How long a repeated message finds its first answer. `off`: as long as the task is kept."),
  }),
  drainMs: duration(0, 3_600_000)
    .prefault("10 s")
    .describe("How long open streams may go on when the gateway stops."),
  log: section(
    "The log: JSON lines on standard error. A text alone is the `level`. The lines of 50 ms are written together; while 16 MiB of them wait for whoever reads standard error, further ones are dropped.",
    {
      level: choice("trace", "debug", "info", "warn", "error", "fatal", "silent")
        .prefault("info")
        .describe("Least severe lines that are written. Calls are `info`."),
    },
  ),
  adminSocket: path("a path, or off", "off")
    .prefault(".switchyard/admin.sock")
    .describe(
      "Unix socket for `switchyard status` and other commands to a running gateway; only its owner may use it. `off`: none.",
    ),
});

/** The effective configuration: every setting has its value. */
export type Config = z.output<typeof configSchema>;

/** Configuration of one agent. */
export type AgentConfig = Config["agents"][number];

/** Settings that may be given as a text alone, with the key that the text stands for. */
export const SHORTHANDS: ReadonlyMap<string, string> = new Map([
  ["store", "path"],
  ["log", "level"],
]);
