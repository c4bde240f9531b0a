import { join } from "node:path";
import { createSqliteStore } from "../../../src/stores/index.js";
import { taskStoreSuite } from "../../suites/task-store.suite.js";
import { createTempDir } from "../../support/temp-dir.js";

const dir = createTempDir();
let count = 0;

taskStoreSuite("sqlite", async (now) => createSqliteStore({ path: join(dir, `${count++}.db`), now }));
