/** The door to the protobuf codec. */
export { decodeBinary } from "./decode.js";
export { encodeBinary } from "./encode.js";
