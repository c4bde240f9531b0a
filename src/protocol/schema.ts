/** The door to the generated code: the rest of the gateway imports messages, schemas and enums from here. */

export { http } from "../../gen/google/api/annotations_pb.js";
export { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.js";
export { type HttpRule, HttpRuleSchema } from "../../gen/google/api/http_pb.js";
export {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  file_google_rpc_error_details,
  type RequestInfo,
  RequestInfoSchema,
  type RetryInfo,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.js";
export { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.js";
export * from "../../gen/lf/a2a/v1/a2a_pb.js";
