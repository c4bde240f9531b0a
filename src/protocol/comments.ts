/** The door to the contract's comments, apart from schema.ts because only documents need them. */
export { COMMENTS } from "../../gen/lf/a2a/v1/a2a_comments.js";
