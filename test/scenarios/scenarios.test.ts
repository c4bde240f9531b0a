import { WIRES } from "../support/wires/index.js";
import { playEverywhere } from "./runner.js";
import { setStage } from "./stage.js";

playEverywhere(WIRES.map((wire) => ({ name: `over ${wire.name}`, wire, setStage: () => setStage(wire) })));
