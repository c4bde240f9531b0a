import type { Database, Statement } from "better-sqlite3";
import type { Task } from "../../protocol/schema.js";
import type { ListCursor, ListPage, ListQuery } from "../task-store.js";
import type { Counters } from "./counters.js";
import type { Reader } from "./reader.js";

/** Which tasks a list shows. */
interface Filter {
  readonly scope: number;
  readonly context: string | undefined;
  readonly states: readonly number[];
  readonly sinceMs: number | undefined;
}

interface ListRow {
  readonly id: string;
  readonly number: number;
  readonly status_ms: number;
  readonly plain_seq: number;
}

/** Lists tasks by status time, then id, both descending. */
export interface Lister {
  page(scope: number, query: ListQuery): ListPage;
  /** Ids of a context's tasks in one of the states, newest first. */
  inStates(scope: number, context: string, states: readonly number[], limit: number): readonly string[];
}

/** What a lister shares with the rest of the store. */
export interface ListerOptions {
  readonly db: Database;
  readonly reader: Reader;
  readonly counters: Counters;
}

export function createLister({ db, reader, counters }: ListerOptions): Lister {
  const rows = createRowQuery(db);
  const countSince = createSinceCount(db);

  function count(filter: Filter, counted: readonly { readonly count: number }[]): number {
    if (filter.sinceMs !== undefined) return countSince(filter, filter.sinceMs);
    return counted.reduce((sum, { count }) => sum + count, 0);
  }

  /** Without artifacts, a task whose log grew by nothing else since its snapshot is read from that alone. */
  function read(scope: number, { id, number, plain_seq }: ListRow, artifacts: boolean): Task | undefined {
    return artifacts ? reader.snapshot(scope, id)?.task : reader.head(number, plain_seq);
  }

  function page(scope: number, query: ListQuery): ListPage {
    const { contextId, state, statusAfterMs, pageSize, after, artifacts } = query;
    const counted = counters
      .read(scope, contextId)
      .filter((each) => state === undefined || each.state === state);
    const states = counted.map((each) => each.state);
    const filter: Filter = { scope, context: contextId, states, sinceMs: statusAfterMs };
    const found = rows(filter, after, pageSize + 1);
    const shown = found.slice(0, pageSize);
    const last = shown.at(-1);
    return {
      tasks: shown.map((row) => read(scope, row, artifacts)).filter((task) => task !== undefined),
      total: count(filter, counted),
      ...(last && found.length > shown.length && { next: { statusMs: last.status_ms, id: last.id } }),
    };
  }

  return {
    /** In one transaction, so that the log is locked once and not for each task. */
    page: db.transaction(page),
    inStates(scope, context, states, limit) {
      return rows({ scope, context, states, sinceMs: undefined }, undefined, limit).map(({ id }) => id);
    },
  };
}

type Bound = Record<string, string | number>;

/** The part of a query that depends on which filters are set. */
function conditions({ context, sinceMs }: Filter, after: ListCursor | undefined): string {
  return [
    "scope = @scope",
    ...(context === undefined ? [] : ["context = @context"]),
    ...(sinceMs === undefined ? [] : ["status_ms >= @sinceMs"]),
    ...(after === undefined ? [] : ["(status_ms, id) < (@afterMs, @afterId)"]),
  ].join(" AND ");
}

function bind({ scope, context, states, sinceMs }: Filter, after: ListCursor | undefined): Bound {
  return {
    scope,
    ...(context !== undefined && { context }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(after && { afterMs: after.statusMs, afterId: after.id }),
    ...Object.fromEntries(states.map((state, index) => [`state${index}`, state])),
  };
}

/**
 * The indexes hold the tasks of one state in order. Several states are several such runs, which SQLite merges
 * row by row until the limit; so each filter is answered by one of two indexes.
 */
function createRowQuery(db: Database) {
  const statement = remembered((where: string, states: number) => {
    const run = (index: number) =>
      `SELECT id, number, status_ms, plain_seq FROM tasks WHERE ${where} AND state = @state${index}`;
    const runs = Array.from({ length: states }, (_, index) => run(index)).join(" UNION ALL ");
    return db.prepare<[Bound], ListRow>(`${runs} ORDER BY status_ms DESC, id DESC LIMIT @limit`);
  });
  return (filter: Filter, after: ListCursor | undefined, limit: number): readonly ListRow[] => {
    if (filter.states.length === 0) return [];
    const where = conditions(filter, after);
    return statement(where, filter.states.length).all({ ...bind(filter, after), limit });
  };
}

/** The one total that no counter holds. Counts in the index. */
function createSinceCount(db: Database) {
  const statement = remembered((where: string, states: number) => {
    const run = (index: number) => `(SELECT count(*) FROM tasks WHERE ${where} AND state = @state${index})`;
    const runs = Array.from({ length: states }, (_, index) => run(index)).join(" + ");
    return db.prepare<[Bound], number>(`SELECT ${runs}`).pluck();
  });
  return (filter: Filter, sinceMs: number): number => {
    if (filter.states.length === 0) return 0;
    const since = { ...filter, sinceMs };
    return statement(conditions(since, undefined), filter.states.length).get(bind(since, undefined)) ?? 0;
  };
}

/** Prepares each form of a statement once; there are as many forms as combinations of filters and numbers of states. */
function remembered<Result>(
  prepare: (where: string, states: number) => Statement<[Bound], Result>,
): (where: string, states: number) => Statement<[Bound], Result> {
  const prepared = new Map<string, Statement<[Bound], Result>>();
  return (where, states) => {
    const key = `${states} ${where}`;
    const statement = prepared.get(key) ?? prepare(where, states);
    prepared.set(key, statement);
    return statement;
  };
}
