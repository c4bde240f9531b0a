import type { Database } from "better-sqlite3";
import type { Scope } from "../task-store.js";

/** Stands for all scopes in `scope_counts`. */
export const ALL_SCOPES = 0;

/** Remembered numbers; when there are more scopes than this, they are looked up anew. */
const MAX_REMEMBERED = 10_000;

/** Scopes by the number that other tables know them by. */
export interface Scopes {
  /** Undefined for a scope that never had anything. */
  find(scope: Scope): number | undefined;
  /** Within a transaction. */
  findOrAdd(scope: Scope): number;
  /** After a transaction that was rolled back: numbers given in it are void. */
  forget(): void;
}

export function createScopes(db: Database): Scopes {
  const remembered = new Map<string, number>();
  const select = db
    .prepare<[string, string], number>("SELECT number FROM scopes WHERE tenant = ? AND owner = ?")
    .pluck();
  const insert = db.prepare<[string, string]>("INSERT INTO scopes (tenant, owner) VALUES (?, ?)");

  function remember(key: string, number: number): number {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(key, number);
    return number;
  }

  function find(scope: Scope): number | undefined {
    const key = keyOf(scope);
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const number = select.get(scope.tenant, scope.owner);
    return number === undefined ? undefined : remember(key, number);
  }

  return {
    find,
    findOrAdd(scope) {
      return (
        find(scope) ?? remember(keyOf(scope), Number(insert.run(scope.tenant, scope.owner).lastInsertRowid))
      );
    },
    forget: () => remembered.clear(),
  };
}

function keyOf({ tenant, owner }: Scope): string {
  return `${tenant.length}:${tenant}${owner}`;
}
