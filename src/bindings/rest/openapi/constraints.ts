import type { DescField, JsonObject } from "@bufbuild/protobuf";

/** What a value must be beyond its type, as JSON Schema, by the full name of its field. */
export type Constraints = ReadonlyMap<string, JsonObject>;

/** Ids may be left out, and an empty one counts as left out. */
const ID = { pattern: "^(?!\\.{1,2}$)[A-Za-z0-9_.:-]{0,128}$" };
const NOT_NEGATIVE = { minimum: 0 };
const PAGE_SIZE = { minimum: 1, maximum: 100 };

/** What the operations of A2A check here by themselves (docs/errors.md), which annotations cannot say. */
export const A2A_CONSTRAINTS: Constraints = new Map<string, JsonObject>([
  [
    "lf.a2a.v1.Message.message_id",
    {
      maxLength: 256,
      pattern:
        "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$",
    },
  ],
  ...[
    "Message.context_id",
    "Message.task_id",
    "ListTasksRequest.context_id",
    "GetTaskRequest.id",
    "CancelTaskRequest.id",
    "SubscribeToTaskRequest.id",
  ].map((name): [string, JsonObject] => [`lf.a2a.v1.${name}`, ID]),
  ["lf.a2a.v1.SendMessageConfiguration.history_length", NOT_NEGATIVE],
  ["lf.a2a.v1.GetTaskRequest.history_length", NOT_NEGATIVE],
  ["lf.a2a.v1.ListTasksRequest.history_length", NOT_NEGATIVE],
  ["lf.a2a.v1.ListTasksRequest.page_size", PAGE_SIZE],
]);

/** A field's name as the table has it. */
export function fullNameOf({ parent, name }: DescField): string {
  return `${parent.typeName}.${name}`;
}
