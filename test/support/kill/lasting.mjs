export { lasting as default } from "./agent.mjs";
