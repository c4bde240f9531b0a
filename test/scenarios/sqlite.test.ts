import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { createSqliteStore } from "../../src/stores/index.js";
import { createTempDir } from "../support/temp-dir.js";
import { WIRES, type Wire } from "../support/wires/index.js";
import { playEverywhere } from "./runner.js";
import { setStage } from "./stage.js";

const folder = createTempDir();
const wire = WIRES.find(({ name }) => name === "jsonrpc HTTP/1.1") as Wire;
const onDisk = () => setStage(wire, createSqliteStore({ path: join(folder, `${randomUUID()}.db`) }));

// S2-10: what is kept on disk is what is kept in memory.
playEverywhere([
  { name: "in memory", wire, setStage: () => setStage(wire) },
  { name: "in SQLite", wire, setStage: onDisk },
]);
