export { createJsonRpcBinding, type JsonRpcBindingOptions } from "./http.js";
