import { spawn } from "node:child_process";
import { join } from "node:path";
import { LOAD_CORE } from "./host.js";
import type { Job, Released } from "./job.js";
import type { Tally } from "./loops.js";
import type { Reply, RequestSpec } from "./request.js";
import { COMPILED } from "./server.js";

/** The generator, seen from here. One job at a time. */
export interface Load {
  closed(request: RequestSpec, inFlight: number, ms: number): Promise<Tally & Cost>;
  paced(request: RequestSpec, perSecond: number, ms: number): Promise<Tally & Cost>;
  /** One call; throws when it fails. Resolves with the answer: for gRPC the message without its prefix. */
  once(request: RequestSpec): Promise<Uint8Array>;
  hold(request: RequestSpec, streams: number): Promise<void>;
  release(request: RequestSpec): Promise<Released>;
  drop(): Promise<void>;
  stop(): void;
}

/** What the generator itself used. */
interface Cost {
  readonly generatorMs: number;
}

interface Answer {
  readonly result?: unknown;
  readonly ownMs?: number;
  readonly error?: string;
}

/** Starts the generator on its core. */
export function startLoad(): Load {
  const program = [process.execPath, join(COMPILED, "harness", "generator.js")];
  const child = spawn("taskset", ["-c", String(LOAD_CORE), ...program], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
  });
  const run = (job: Job) =>
    new Promise<Answer>((resolve, reject) => {
      const onExit = () => reject(new Error("the load generator ended"));
      child.once("exit", onExit);
      child.once("message", (message) => {
        child.off("exit", onExit);
        const answer = message as Answer;
        if (answer.error === undefined) resolve(answer);
        else reject(new Error(answer.error));
      });
      child.send(job);
    });
  const loop = async (job: Job): Promise<Tally & Cost> => {
    const { result, ownMs = 0 } = await run(job);
    return { ...(result as Tally), generatorMs: ownMs };
  };
  return {
    closed: (request, inFlight, ms) => loop({ kind: "closed", request, inFlight, ms }),
    paced: (request, perSecond, ms) => loop({ kind: "paced", request, perSecond, ms }),
    once: async (request) => answerOf(request, (await run({ kind: "once", request })).result as Reply),
    hold: async (request, streams) => {
      await run({ kind: "hold", request, streams });
    },
    release: async (request) => (await run({ kind: "release", request })).result as Released,
    drop: async () => {
      await run({ kind: "drop" });
    },
    stop: () => child.disconnect(),
  };
}

function answerOf(request: RequestSpec, { failure, body = new Uint8Array() }: Reply): Uint8Array {
  if (failure !== undefined)
    throw new Error(`${request.path}: ${failure}: ${new TextDecoder().decode(body)}`);
  return request.kind === "grpc" ? body.subarray(5) : body;
}
