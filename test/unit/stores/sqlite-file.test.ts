import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setImmediate as nextTick } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import Sqlite from "better-sqlite3";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { MessageSchema, type Role, TaskState } from "../../../src/protocol/schema.js";
import { createSqliteStore, StoreOpenError } from "../../../src/stores/index.js";
import { chunk, createLogWriter, opening, status, text } from "../../support/log.js";
import { createTempDir } from "../../support/temp-dir.js";

const dir = createTempDir();
let count = 0;
const freshPath = () => join(dir, `${count++}`, "store.db");
const scope = { tenant: "t", owner: "o" };
const { COMPLETED, WORKING } = TaskState;
const everything = { pageSize: 100, artifacts: true };

function openStore(path: string, now?: () => number) {
  const store = createSqliteStore({ path, ...(now && { now }) });
  onTestFinished(() => store.close());
  return store;
}

function refusal(path: string): unknown {
  try {
    openStore(path);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

/** Looks into a file that no store has open. */
function inspect<Result>(path: string, body: (db: Sqlite.Database) => Result): Result {
  const db = new Sqlite(path);
  try {
    return body(db);
  } finally {
    db.close();
  }
}

const counts = (path: string, ...tables: string[]) =>
  inspect(path, (db) => tables.map((table) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()));

function startProcess(path: string): ChildProcess {
  const child = spawn(process.execPath, ["--import", "tsx", "test/support/store-process.ts", path], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

const message = (messageId: string) => create(MessageSchema, { messageId });

const finished = (id: string, contextId = "c") =>
  createLogWriter().write([opening({ id, contextId }), status(COMPLETED)]);

describe("a store's file", () => {
  it("of the schema before rows held several entries is read and added to", async () => {
    const path = freshPath();
    const first = openStore(path);
    const log = createLogWriter();
    await first.commit(scope, "a", log.write([opening({ id: "a", contextId: "c" })]));
    await first.commit(scope, "a", log.write([chunk({ artifactId: "x", parts: [text("1")] })]));
    await first.close();
    inspect(path, (db) =>
      db.exec("ALTER TABLE entries DROP COLUMN count; UPDATE schema_version SET version = 1"),
    );

    const second = openStore(path);
    const rest = [chunk({ artifactId: "x", parts: [text("2")] }), status(COMPLETED)];
    expect(await second.commit(scope, "a", log.write(rest))).toEqual({ kind: "committed" });
    expect((await second.entries(scope, "a", 0, 10)).map(({ seq, event }) => [seq, event.number])).toEqual(
      [1, 2, 3, 4].map((place) => [place, place]),
    );
    expect((await second.get(scope, "a"))?.task).toEqual(log.task());
  });

  it("is made with its directory, for its owner only, and is one file after the end", async () => {
    const path = freshPath();
    const store = openStore(path);
    await store.commit(scope, "a", finished("a"));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    for (const beside of ["-wal", "-shm"]) expect(statSync(`${path}${beside}`).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
    await store.close();
    for (const beside of ["-wal", "-shm"]) expect(existsSync(`${path}${beside}`)).toBe(false);
  });

  it("keeps everything over a restart, the secret too (S2-10)", async () => {
    const path = freshPath();
    const first = openStore(path);
    const log = createLogWriter();
    const key = { messageKey: { messageId: "m", digest: "d" } };
    await first.commit(scope, "a", log.write([opening({ id: "a", contextId: "c" }), status(WORKING)], key));
    await first.commit(scope, "a", log.write([chunk({ artifactId: "x", parts: [text("1")] })]));
    const before = await first.get(scope, "a");
    await first.close();

    const second = openStore(path);
    expect(second.secret).toEqual(first.secret);
    expect(await second.get(scope, "a")).toEqual(before);
    expect(await second.byMessage(scope, "m")).toEqual({ kind: "task", digest: "d", taskId: "a" });
    expect(await second.countByState()).toEqual(new Map([[WORKING, 1]]));
    expect(await second.commit(scope, "a", log.write([status(COMPLETED)]))).toEqual({ kind: "committed" });
    expect(await second.commit(scope, "b", finished("b"))).toEqual({ kind: "committed" });
    expect((await second.list(scope, everything)).total).toBe(2);
    expect((await second.get(scope, "a"))?.task.artifacts).toHaveLength(1);
  });

  it("has a secret of its own", async () => {
    const [one, two] = [openStore(freshPath()), openStore(freshPath())];
    expect(one.secret).not.toEqual(two.secret);
  });
});

describe("a store that cannot be opened says why in one line", () => {
  const expectLine = (thrown: unknown, line: string) => {
    expect(thrown).toBeInstanceOf(StoreOpenError);
    expect((thrown as StoreOpenError).message).toBe(line);
  };

  it("when this process has it open already", () => {
    const path = freshPath();
    openStore(path);
    expectLine(refusal(path), `The store ${path} is in use by another process.`);
  });

  it("when it is no database", () => {
    const path = join(dir, "text.db");
    writeFileSync(path, "This is not a database, however long one looks at it. ".repeat(20));
    expectLine(refusal(path), `The store ${path} is not a database.`);
  });

  it("when it is some other program's database, which stays as it is", () => {
    const path = join(dir, "foreign.db");
    inspect(path, (db) => db.exec("CREATE TABLE bookmarks (url TEXT)"));
    expectLine(refusal(path), `The store ${path} holds some other program's database.`);
    expect(inspect(path, (db) => db.prepare("SELECT name FROM sqlite_schema").pluck().all())).toEqual([
      "bookmarks",
    ]);
  });

  it("when a newer version wrote it, which stays as it is", async () => {
    const path = freshPath();
    await openStore(path).close();
    inspect(path, (db) => db.exec("UPDATE schema_version SET version = 99"));
    expectLine(
      refusal(path),
      `The store ${path} was written by a newer version (schema 99; this one knows 2).`,
    );
    expect(inspect(path, (db) => db.prepare("SELECT version FROM schema_version").pluck().get())).toBe(99);
  });

  it("when its path is a directory, or leads through a file", () => {
    const path = join(dir, "folder.db");
    mkdirSync(path);
    expectLine(refusal(path), `The store ${path} is a directory.`);
    const through = join(dir, "file", "store.db");
    writeFileSync(join(dir, "file"), "");
    expectLine(
      refusal(through),
      `The store ${through} cannot be opened: a part of its path is not a directory.`,
    );
  });

  it.skipIf(process.getuid?.() === 0)("when it may not be read (root may read anything)", () => {
    const path = join(dir, "secret.db");
    writeFileSync(path, "");
    chmodSync(path, 0o000);
    expectLine(refusal(path), `The store ${path} cannot be opened: permission denied.`);
  });
});

describe("two processes", () => {
  it("cannot have one store: the second is told so and the first goes on", async () => {
    const path = freshPath();
    const store = openStore(path);
    await store.commit(scope, "a", finished("a"));
    const child = startProcess(path);
    const errors: Buffer[] = [];
    child.stderr?.on("data", (data: Buffer) => errors.push(data));
    const [code] = await once(child, "close");
    expect(code).toBe(1);
    expect(Buffer.concat(errors).toString()).toBe(`The store ${path} is in use by another process.\n`);
    expect(await store.commit(scope, "b", finished("b"))).toEqual({ kind: "committed" });
  });

  it("that open a store at the same time do not keep it from one another", async () => {
    const paths = Array.from({ length: 12 }, freshPath);
    const children = [1, 2].map(() => {
      const command = ["--import", "tsx", "test/support/opening-process.ts", "350", ...paths];
      return spawn(process.execPath, command, { stdio: ["pipe", "pipe", "inherit"] });
    });
    onTestFinished(() => {
      for (const child of children) child.kill("SIGKILL");
    });
    const lines = children.map(({ stdout }) => createInterface({ input: stdout })[Symbol.asyncIterator]());
    await Promise.all(lines.map((each) => each.next()));
    const start = `${Date.now() + 100}`;
    for (const { stdin } of children) stdin.write(start);
    const steps = await Promise.all(lines.map((each) => each.next()));
    const [one, other] = steps.map(({ value }) => JSON.parse(value as string) as boolean[]);
    expect(paths.map((_, index) => [one?.[index], other?.[index]].filter(Boolean).length)).toEqual(
      paths.map(() => 1),
    );
  });

  /** After the more tasks, checkpoints are being made. */
  it.each([300, 5000])(
    "may follow one another after kill −9, with all %i tasks that were acknowledged",
    async (tasks) => {
      const path = freshPath();
      const child = startProcess(path);
      const acknowledged: string[] = [];
      for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
        acknowledged.push(line);
        if (acknowledged.length === tasks) child.kill("SIGKILL");
      }
      const ids = acknowledged.slice(1);
      expect(ids.length).toBeGreaterThanOrEqual(tasks - 1);

      const store = openStore(path);
      const anonymous = { tenant: "", owner: "" };
      for (const id of ids) {
        const snapshot = await store.get(anonymous, id);
        expect(snapshot?.task.status?.state).toBe(COMPLETED);
        expect(snapshot?.task.artifacts).toHaveLength(1);
        expect(await store.byMessage(anonymous, `m-${id}`)).toMatchObject({ taskId: id });
      }
      // Counters and rows are of one transaction, so they agree about the unacknowledged ones as well.
      const { total } = await store.list(anonymous, { pageSize: 1, artifacts: false, contextId: "c" });
      const states = [...(await store.countByState()).values()];
      expect(states.reduce((sum, each) => sum + each, 0)).toBe(total);
      await store.close();
      expect(counts(path, "tasks", "message_keys")).toEqual([total, total]);
    },
  );
});

describe("a large log", () => {
  it("is copied by a second connection, of which nothing is left after the end", async () => {
    const path = freshPath();
    const store = openStore(path);
    const large = () => chunk({ artifactId: "x", parts: [text("x".repeat(1_000_000))] });
    const log = createLogWriter();
    await store.commit(scope, "a", log.write([opening({ id: "a", contextId: "c" })]));
    for (let written = 0; written < 40; written += 1) await store.commit(scope, "a", log.write([large()]));
    await store.commit(scope, "a", log.write([status(COMPLETED)]));
    expect(statSync(path).size).toBeGreaterThan(10_000_000);
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(inspect(path, (db) => db.pragma("journal_mode = DELETE", { simple: true }))).toBe("delete");
    expect(counts(path, "entries")).toEqual([42]);
  });
});

describe("a store at a relative path", () => {
  it("has its own log copied after the program went to a directory where another store is", async () => {
    const [path, other] = [freshPath(), freshPath()];
    await openStore(other).close();
    const home = process.cwd();
    onTestFinished(() => process.chdir(home));
    mkdirSync(dirname(path));
    process.chdir(dirname(path));
    const store = openStore("store.db");
    process.chdir(dirname(other));
    const log = createLogWriter();
    const large = () => chunk({ artifactId: "x", parts: [text("x".repeat(1_000_000))] });
    await store.commit(scope, "a", log.write([opening({ id: "a", contextId: "c" })]));
    for (let written = 0; written < 20; written += 1) await store.commit(scope, "a", log.write([large()]));
    await vi.waitUntil(() => statSync(path).size > 10_000_000, { timeout: 10_000 });
  });
});

describe("group commit", () => {
  it("shows a write to no reader before its transaction", async () => {
    const store = openStore(freshPath());
    const pending = store.commit(scope, "a", finished("a"));
    expect(await store.get(scope, "a")).toBeUndefined();
    expect((await store.list(scope, everything)).total).toBe(0);
    await pending;
    expect(await store.get(scope, "a")).toBeDefined();
  });

  it("takes a transaction back that failed and tries each of its writes alone", async () => {
    const path = freshPath();
    await openStore(path).close();
    inspect(path, (db) =>
      db.exec(`CREATE TRIGGER trouble BEFORE INSERT ON tasks WHEN new.id = 'bad'
               BEGIN SELECT RAISE(ABORT, 'disk trouble'); END`),
    );
    const store = openStore(path);
    await store.commit(scope, "old", finished("old"));
    const fresh = { tenant: "new", owner: "new" };
    const results = await Promise.allSettled([
      store.commit(fresh, "a", finished("a")),
      store.commit(scope, "old", createLogWriter(await store.get(scope, "old")).write([status(WORKING)])),
      store.commit(scope, "bad", finished("bad")),
      store.commit(scope, "b", finished("b")),
    ]);
    const committed = { status: "fulfilled", value: { kind: "committed" } };
    expect(results).toMatchObject([
      committed,
      committed,
      { status: "rejected", reason: { message: "disk trouble" } },
      committed,
    ]);
    expect(await store.countByState()).toEqual(
      new Map([
        [COMPLETED, 2],
        [WORKING, 1],
      ]),
    );
    expect((await store.list(fresh, everything)).total).toBe(1);
    expect(await store.get(scope, "bad")).toBeUndefined();

    expect(await store.commit(scope, "c", finished("c"))).toEqual({ kind: "committed" });
    expect((await store.list(scope, everything)).total).toBe(3);
  });

  it("gives every reader a task of its own", async () => {
    const store = openStore(freshPath());
    await store.commit(
      scope,
      "a",
      createLogWriter().write([opening({ id: "a" }), status(COMPLETED)], { snapshot: true }),
    );
    const first = await store.get(scope, "a");
    const untouched = structuredClone(first);
    first?.task.history.push(message("m"));
    Object.assign(first?.task.status as object, { state: WORKING });
    const second = await store.get(scope, "a");
    expect(second).toEqual(untouched);
    Object.assign(second?.task as object, { id: "b" });
    expect(await store.get(scope, "a")).toEqual(untouched);
  });

  it("fails a write that cannot be encoded alone", async () => {
    const store = openStore(freshPath());
    const log = createLogWriter();
    const write = log.write([opening({ id: "a", contextId: "c" })]);
    const wrong = createLogWriter().write([
      opening({ id: "b", history: [{ messageId: "m", role: 1e12 as Role }] }),
    ]);
    const results = await Promise.allSettled([
      store.commit(scope, "b", wrong),
      store.commit(scope, "a", write),
    ]);
    expect(results.map((result) => result.status)).toEqual(["rejected", "fulfilled"]);
  });
});

describe("expiry", () => {
  const rule = { states: [COMPLETED], beforeMs: 1, limit: 100 };

  async function commitLong(store: ReturnType<typeof openStore>, id: string, chunks: number): Promise<void> {
    const log = createLogWriter();
    const key = { messageKey: { messageId: `m-${id}`, digest: "d" } };
    await store.commit(scope, id, log.write([opening({ id, contextId: id })], key));
    const piece = () => log.write([chunk({ artifactId: "x", parts: [text("1")] })]);
    await Promise.all(Array.from({ length: chunks }, () => store.commit(scope, id, piece())));
    await store.commit(scope, id, log.write([status(COMPLETED)], { snapshot: true }));
  }

  it("leaves nothing behind", async () => {
    const path = freshPath();
    const store = openStore(path);
    await commitLong(store, "a", 1_200);
    await commitLong(store, "b", 3);
    expect(await store.expire(rule)).toBe(2);
    await store.close();
    const tables = ["tasks", "entries", "snapshots", "message_keys", "context_counts", "garbage"];
    expect(counts(path, ...tables)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("leaves room for calls while it clears a long log", async () => {
    const store = openStore(freshPath());
    await commitLong(store, "a", 5_000);
    let turns = 0;
    let done = false;
    const expiring = store.expire(rule).finally(() => {
      done = true;
    });
    while (!done) {
      await nextTick();
      turns += 1;
      expect(await store.get(scope, "a")).toBeUndefined();
    }
    expect(await expiring).toBe(1);
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  it("goes on after an end in its middle, and an id that began anew meanwhile is left alone", async () => {
    const path = freshPath();
    const first = openStore(path);
    await commitLong(first, "a", 3_000);
    const expiring = first.expire(rule);
    await nextTick();
    await first.close();
    expect(await expiring).toBe(1);
    expect(counts(path, "tasks", "garbage")).toEqual([0, 1]);

    const second = openStore(path);
    expect(await second.get(scope, "a")).toBeUndefined();
    expect(await second.byMessage(scope, "m-a")).toBeUndefined();
    const log = createLogWriter();
    await second.commit(scope, "a", log.write([opening({ id: "a", contextId: "new" })]));
    expect(await second.byMessage(scope, "m-a")).toBeUndefined();
    expect((await second.get(scope, "a"))?.task.contextId).toBe("new");
    const key = { messageKey: { messageId: "m-a", digest: "d" } };
    await second.commit(scope, "a", log.write([status(WORKING)], key));
    expect(await second.expire(rule)).toBe(0);
    expect(await second.byMessage(scope, "m-a")).toMatchObject({ taskId: "a" });
    expect(await second.entries(scope, "a", 0, 10)).toHaveLength(2);
    await second.close();
    expect(counts(path, "tasks", "entries", "garbage")).toEqual([1, 2, 0]);
  });
});
