import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/**
 * One line for what scenarios look at most: `task WORKING "text"`, `status COMPLETED "text"`,
 * `artifact a1 "text" append last`, `message "text"`. Undefined for anything else.
 */
export function summaryOf(value: JsonValue): string | undefined {
  const json = value as JsonObject;
  if (json.task) return taskSummary(json.task as JsonObject);
  if (json.message) return `message ${textsOf(json.message as JsonObject)}`;
  if (json.statusUpdate)
    return statusSummary("status", (json.statusUpdate as JsonObject).status as JsonObject);
  if (json.artifactUpdate) return artifactSummary(json.artifactUpdate as JsonObject);
  if (json.status) return taskSummary(json);
  return undefined;
}

function taskSummary({ status, artifacts }: JsonObject): string {
  const shown = ((artifacts ?? []) as JsonObject[]).map((each) => ` ${each.artifactId}=${textsOf(each)}`);
  return `${statusSummary("task", status as JsonObject)}${shown.join("")}`;
}

function statusSummary(kind: string, { state, message }: JsonObject): string {
  const name = String(state).replace("TASK_STATE_", "");
  return message ? `${kind} ${name} ${textsOf(message as JsonObject)}` : `${kind} ${name}`;
}

function artifactSummary({ artifact, append, lastChunk }: JsonObject): string {
  const { artifactId } = artifact as JsonObject;
  const marks = `${append ? " append" : ""}${lastChunk ? " last" : ""}`;
  return `artifact ${artifactId} ${textsOf(artifact as JsonObject)}${marks}`;
}

function textsOf({ parts }: JsonObject): string {
  const texts = ((parts ?? []) as JsonObject[]).map(({ text }) => text ?? "");
  return JSON.stringify(texts.join("|"));
}
