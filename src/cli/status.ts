import { formatProblems } from "../config/load.js";
import { formatAddress } from "../config/values.js";
import { callAdmin } from "../server/admin-socket.js";
import type { ProcessStatus } from "./admin-commands.js";
import { columns, complain, lineOf, say } from "./console.js";
import { type ConfigFlags, loadFromFlags } from "./flags.js";

/** How `switchyard status` is asked. */
export interface StatusFlags extends ConfigFlags {
  /** Print the gateway's answer as it is. */
  readonly json?: boolean;
}

/** Prints what a running gateway says about itself. Returns the exit code: 1 when none is running. */
export async function status(flags: StatusFlags): Promise<number> {
  const path = socketPath(flags);
  if (path === undefined) return 1;
  try {
    const answer = await callAdmin(path, { command: "status", parameters: {} });
    if (answer === undefined) {
      complain(`no gateway listens on ${path}`);
      return 1;
    }
    const found = answer.result as unknown as ProcessStatus;
    say(...(flags.json === true ? [JSON.stringify(found)] : formatStatus(found)));
    return 0;
  } catch (error) {
    complain(`${path}: ${lineOf(error)}`);
    return 1;
  }
}

/** The admin socket that the configuration names; says what is wrong when there is none. */
export function socketPath(flags: ConfigFlags): string | undefined {
  const { config, problems } = loadFromFlags(flags);
  if (config === undefined) complain(...formatProblems(problems));
  else if (config.adminSocket === "off") complain("adminSocket is off.");
  else return config.adminSocket;
  return undefined;
}

function formatStatus(status: ProcessStatus): string[] {
  const { addresses, tasks } = status;
  const counted = Object.entries(tasks).map(([state, count]) => `${count} ${state.toLowerCase()}`);
  const rows = [
    ["HTTP", addresses?.http?.url ?? "off"],
    ["gRPC", addresses?.grpc === undefined ? "off" : formatAddress(addresses.grpc)],
    ...(addresses?.metrics ? [["metrics", `http://${formatAddress(addresses.metrics)}/metrics`]] : []),
    ["agents", status.tenants.map((tenant) => `/${tenant}`).join(", ")],
    ["tasks", counted.join(", ") || "none"],
    ["running", String(status.runs)],
    ["streams", `${status.openStreams} open`],
  ];
  const uptime = `${Math.round(status.uptimeMs / 1000)} s`;
  return [
    `Switchyard ${status.version}, ${status.state}, process ${status.pid}, up ${uptime}`,
    ...columns(rows).map((row) => `  ${row}`),
  ];
}
