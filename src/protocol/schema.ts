/** The door to the generated code: the rest of the gateway imports messages, schemas and enums from here. */
export * from "../../gen/lf/a2a/v1/a2a_pb.js";
