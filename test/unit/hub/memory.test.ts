import { createMemoryHub } from "../../../src/hub/memory.js";
import { hubSuite } from "../../suites/hub.suite.js";

hubSuite("memory", async () => ({ hub: createMemoryHub(), close: async () => {} }));
