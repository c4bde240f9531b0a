import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { RetentionRule } from "../core/retention.js";
import type { Gateway, GatewayStatus } from "../gateway.js";
import { TaskState } from "../protocol/schema.js";
import type { AdminCommand } from "../server/admin-socket.js";
import { readVersion } from "./version.js";

/** What `status` answers: the gateway's own status and its process. */
export type ProcessStatus = GatewayStatus & {
  readonly version: string;
  readonly pid: number;
  readonly uptimeMs: number;
};

/** What a running gateway does for its owner. */
export function adminCommands(gateway: Gateway): ReadonlyMap<string, AdminCommand> {
  return new Map<string, AdminCommand>([
    ["status", async () => toJson(await statusOf(gateway))],
    ["tasks.prune", async (parameters) => ({ pruned: await gateway.prune([pruneRule(parameters)]) })],
  ]);
}

async function statusOf(gateway: Gateway): Promise<ProcessStatus> {
  const status = await gateway.status();
  return {
    ...status,
    version: readVersion(),
    pid: process.pid,
    uptimeMs: Math.round(process.uptime() * 1000),
  };
}

/** Plain data without what is undefined. */
function toJson(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

/** The names that `--state` takes: those of states that a task can rest in. */
export const PRUNABLE_STATES: ReadonlyMap<string, TaskState> = new Map([
  ["completed", TaskState.COMPLETED],
  ["failed", TaskState.FAILED],
  ["canceled", TaskState.CANCELED],
  ["rejected", TaskState.REJECTED],
  ["input-required", TaskState.INPUT_REQUIRED],
  ["auth-required", TaskState.AUTH_REQUIRED],
]);

/** Reads what `switchyard tasks prune` sends. Throws an Error for anything else, since it deletes. */
export function pruneRule({ olderThanMs, states, tenant }: JsonObject): RetentionRule {
  if (typeof olderThanMs !== "number" || !(olderThanMs >= 0)) throw new Error("olderThanMs must be a time");
  if (tenant !== undefined && typeof tenant !== "string") throw new Error("tenant must be a text");
  return {
    maxAgeMs: olderThanMs,
    ...(states !== undefined && { states: prunableStates(states) }),
    ...(tenant !== undefined && { tenant }),
  };
}

function prunableStates(names: JsonValue): TaskState[] {
  if (!Array.isArray(names)) throw new Error("states must be a list");
  return names.map((name) => {
    const state = PRUNABLE_STATES.get(String(name));
    if (state === undefined) throw new Error(`${String(name)} is no state that can be pruned`);
    return state;
  });
}
