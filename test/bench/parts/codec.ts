import { timings } from "../harness/micro.js";
import { type Findings, number } from "../harness/report.js";

/** Encoding and decoding. */
export async function codec(): Promise<Findings> {
  const found = timings("codec");
  const ns = (name: string) => found.find((timing) => timing.name === name)?.ns ?? Number.NaN;
  const messages = [...new Set(found.map(({ name }) => name.split(":")[0] as string))];
  const columns = ["ours", "protobuf-es"];
  const rows = messages.flatMap((message) =>
    (["write", "read"] as const).map((verb) => {
      const native = verb === "write" ? "JSON.stringify" : "JSON.parse";
      const at = (what: string) => ns(`${message}: ${verb} JSON, ${what}`);
      return [
        `${message}, ${verb}`,
        ...[...columns, native].map((column) => number(at(column))),
        number(at("ours") / at("protobuf-es")),
        number(at("ours") / at(native)),
        number(ns(`${message}: ${verb} binary`)),
      ];
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
          "JSON, ours",
          "JSON, protobuf-es",
          "JSON alone",
          "ours ÷ protobuf-es",
          "ours ÷ JSON alone",
          "binary",
        ],
        rows,
      },
    ],
  };
}
