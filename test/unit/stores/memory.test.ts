import { createMemoryStore } from "../../../src/stores/index.js";
import { taskStoreSuite } from "../../suites/task-store.suite.js";

taskStoreSuite("memory", async (now) => createMemoryStore({ now }));
