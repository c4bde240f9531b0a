import { once } from "node:events";
import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** A command that a running gateway takes from its owner. What it throws is told to the caller. */
export type AdminCommand = (parameters: JsonObject) => Promise<JsonValue>;

/** What an admin socket offers. */
export interface AdminSocketOptions {
  /** Path of the Unix socket; its folder is made when missing. */
  readonly path: string;
  readonly commands: ReadonlyMap<string, AdminCommand>;
}

/** The Unix socket through which commands reach a running gateway. */
export interface AdminSocket {
  close(): Promise<void>;
}

/** One line from a caller. */
export interface AdminRequest {
  readonly command: string;
  readonly parameters: JsonObject;
}

/** One line to a caller, for each of its lines, in their order. */
export type AdminAnswer = { readonly result: JsonValue } | { readonly error: string };

/** Longest line that is read, bytes. */
const MAX_LINE_BYTES = 65_536;
/** Unix sockets have no longer paths. */
const MAX_PATH_BYTES = 107;

/**
 * Listens on a Unix socket that only its owner may use: JSON objects, one a line. A socket that a dead process
 * left behind is replaced. Rejects with an Error when the path is too long or a living gateway has it.
 */
export async function openAdminSocket({ path, commands }: AdminSocketOptions): Promise<AdminSocket> {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new Error(`the path of a Unix socket has at most ${MAX_PATH_BYTES} bytes: ${path}`);
  }
  mkdirSync(dirname(path), { recursive: true });
  await removeStale(path);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A caller that goes away early is no matter of the gateway's.
    socket.on("error", () => socket.destroy());
    void serve(socket, commands);
  });
  await listenAsOwner(server, path);
  return {
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${path} exists and is no socket`);
  const socket = await open(path);
  socket?.destroy();
  if (socket !== undefined) throw new Error(`another gateway already listens on ${path}`);
  rmSync(path);
}

/** Nobody listens there. */
const ABSENT = new Set(["ENOENT", "ECONNREFUSED"]);

/** A connection; undefined when nobody listens. */
async function open(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    socket.destroy();
    if (ABSENT.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** The file never exists with wider rights: the mask holds while it is made. */
async function listenAsOwner(server: Server, path: string): Promise<void> {
  const mask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
  await once(server, "listening");
  chmodSync(path, 0o600);
}

async function serve(socket: Socket, commands: AdminSocketOptions["commands"]): Promise<void> {
  try {
    for await (const line of linesOf(socket)) {
      const answer = await execute(line, commands);
      socket.write(`${JSON.stringify(answer)}\n`);
    }
    socket.end();
  } catch {
    socket.destroy();
  }
}

async function execute(line: string, commands: AdminSocketOptions["commands"]): Promise<AdminAnswer> {
  try {
    const { command, parameters = {} } = JSON.parse(line) as Partial<AdminRequest>;
    const run = commands.get(String(command));
    if (run === undefined) return { error: `there is no command ${JSON.stringify(command)}` };
    return { result: await run(parameters) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Lines as they come; a longer one than is allowed ends the connection. */
async function* linesOf(socket: Socket): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of socket.setEncoding("utf8")) {
    rest += chunk as string;
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line.trim() !== "");
    if (rest.length > MAX_LINE_BYTES) return;
  }
}

/**
 * Sends one command to a running gateway. Undefined when none listens there; rejects with an Error that holds
 * the gateway's own text when the command failed, or when no answer comes in time.
 */
export async function callAdmin(
  path: string,
  request: AdminRequest,
  timeoutMs = 30_000,
): Promise<{ readonly result: JsonValue } | undefined> {
  const socket = await open(path);
  if (socket === undefined) return undefined;
  try {
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error("the gateway did not answer in time")));
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const line of linesOf(socket)) {
      const answer = JSON.parse(line) as AdminAnswer;
      if ("error" in answer) throw new Error(answer.error);
      return answer;
    }
    throw new Error("the gateway closed the connection");
  } finally {
    socket.destroy();
  }
}
