import { Command, InvalidArgumentError } from "commander";
import { addConfigFlag, addConfigFlags, addSocketFlag, type ConfigFlags } from "./flags.js";
import type { StatusFlags } from "./status.js";
import type { PruneFlags } from "./tasks.js";
import { readVersion } from "./version.js";

/** The command line. `finish` gets the exit code of the command that ran. */
export function createProgram(finish: (code: number) => void): Command {
  const program = new Command("switchyard")
    .description("An A2A 1.0 gateway: your agents on every binding.")
    .version(readVersion())
    .showHelpAfterError("(switchyard --help lists the commands and flags)");

  // What a command needs is imported when it runs, so that the short ones answer at once.
  addConfigFlags(program.command("serve").description("serve agents on every binding")).action(
    async (flags: ConfigFlags) => {
      const { serve } = await import("./serve.js");
      finish(await serve(flags));
    },
  );
  addConfigFlags(
    program.command("check").description("print the effective configuration and every problem with it"),
  ).action(async (flags: ConfigFlags) => {
    const { check } = await import("./check.js");
    finish(await check(flags));
  });
  addSocketFlag(addConfigFlag(program.command("status").description("ask a running gateway how it is")))
    .option("--json", "print the answer as JSON")
    .action(async (flags: StatusFlags) => {
      const { status } = await import("./status.js");
      finish(await status(flags));
    });
  addTasks(program, finish);
  return program;
}

function addTasks(program: Command, finish: (code: number) => void): void {
  const tasks = program.command("tasks").description("look after the stored tasks");
  addSocketFlag(addConfigFlag(tasks.command("prune").description("forget old tasks")))
    .requiredOption("--older-than <time>", "age of the last status, such as 12h or 7d")
    .option(
      "--state <state>",
      "only tasks in this state; may be repeated (default: all that have ended)",
      collect,
    )
    .option("--tenant <tenant>", "only tasks of this tenant")
    .option("--yes", "do forget tasks of any age, which --older-than 0 means")
    .option("--store <path>", "file with the tasks, for when no gateway is running")
    .action(async (flags: PruneFlags) => {
      const { pruneTasks } = await import("./tasks.js");
      finish(await pruneTasks(flags));
    });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  if (value === "") throw new InvalidArgumentError("It must not be empty.");
  return [...before, value];
}
