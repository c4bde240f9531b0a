import { complete, defineAgent } from "switchyard/agent";

/** Refuses callers that do not name its extension. */
export default defineAgent({
  card: {
    name: "Strict",
    description: "Requires an extension, for tests of error answers.",
    capabilities: { extensions: [{ uri: "urn:switchyard:interop:required", required: true }] },
  },
  answer: () => complete(),
});
