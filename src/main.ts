/** The program. */
import { createProgram } from "./cli/program.js";

// An agent may have left timers and sockets open, so the end is explicit.
await createProgram((code) => process.exit(code)).parseAsync();
