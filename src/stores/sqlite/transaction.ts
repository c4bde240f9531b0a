import type { Database } from "better-sqlite3";

/** Makes `body` one transaction. When it is rolled back, `forget` drops what was remembered of it, and the cause is thrown. */
export function createTransaction<Args extends unknown[], Result>(
  db: Database,
  forget: () => void,
  body: (...args: Args) => Result,
): (...args: Args) => Result {
  const transaction = db.transaction(body);
  return (...args) => {
    try {
      return transaction.immediate(...args);
    } catch (thrown) {
      forget();
      throw thrown;
    }
  };
}
