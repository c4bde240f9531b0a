/** The door for agent authors, exported as `switchyard/agent`: light, so that an agent file loads at once. */
export {
  AgentCardSchema,
  type Artifact,
  type Message,
  type Part,
  Role,
  type Task,
  TaskState,
} from "../protocol/schema.js";
export {
  type Agent,
  type Answer,
  type Outcome,
  type Principal,
  type Progress,
  type Turn,
  TurnStopped,
} from "./agent.js";
export { type Content, data, type FileInit, file, type PartOptions, text, textOf } from "./content.js";
export {
  type AgentDefinition,
  type CardInit,
  defineAgent,
  type Ending,
  type Reaction,
  type Step,
  type Work,
} from "./define.js";
export {
  type ArtifactOptions,
  artifact,
  askAuth,
  askInput,
  authPending,
  type ChunkOptions,
  canceled,
  complete,
  fail,
  reject,
  type StatusOptions,
  stream,
  working,
} from "./progress.js";
