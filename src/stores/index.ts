/** The door to the stores. */
export { createMemoryStore, type MemoryStoreOptions } from "./memory.js";
export { type Durability, StoreOpenError } from "./sqlite/open-error.js";
export { createSqliteStore, type SqliteStoreOptions } from "./sqlite/store.js";
