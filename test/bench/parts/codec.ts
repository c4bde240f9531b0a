import { timings } from "../harness/micro.js";
import { type Findings, number } from "../harness/report.js";

/** Encoding and decoding. */
export async function codec(): Promise<Findings> {
  const found = timings("codec");
  const ns = (name: string) => found.find((timing) => timing.name === name)?.ns ?? Number.NaN;
  const messages = [...new Set(found.map(({ name }) => name.split(":")[0] as string))];
  const rows = messages.flatMap((message) =>
    (["write", "read"] as const).map((verb) => {
      const at = (what: string) => ns(`${message}: ${verb} ${what}`);
      const native = at(verb === "write" ? "JSON, JSON.stringify" : "JSON, JSON.parse");
      const [json, jsonEs] = [at("JSON, ours"), at("JSON, protobuf-es")];
      const [binary, binaryEs] = [at("binary, ours"), at("binary, protobuf-es")];
      const cells = [json, jsonEs, native, json / jsonEs, json / native, binary, binaryEs, binary / binaryEs];
      return [`${message}, ${verb}`, ...cells.map(number)];
    }),
  );
  return {
    title: "Encoding and decoding",
    method:
      "Nanoseconds for one message. The reader checks the whole text, duplicate members and numbers included; JSON.parse does not.",
    verdicts: [],
    tables: [
      {
        head: [
          "",
          "JSON",
          "JSON, protobuf-es",
          "JSON alone",
          "÷ protobuf-es",
          "÷ JSON alone",
          "binary",
          "binary, protobuf-es",
          "÷ protobuf-es",
        ],
        rows,
      },
    ],
  };
}
