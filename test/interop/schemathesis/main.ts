/**
 * Schemathesis makes requests out of the gateway's own OpenAPI document, good and bad ones, and holds every answer
 * against it: no 5xx, no undocumented status, media type, header or body, no method that the document does not have.
 *
 * Arguments: base URL of the gateway, path of the program.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { SCRATCH } from "../clients.js";

const [base = "", program = ""] = process.argv.slice(2);

const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
  "allow_header_conformance",
  "missing_required_header",
];

/** Seconds for everything; what they do not suffice for is left to the next run. */
const BUDGET_SECONDS = "40";

const reportSchema = z.object({
  seed: z.number(),
  phases: z.record(z.string(), z.object({ status: z.string() })),
  test_cases: z.object({ generated: z.number() }),
  failures: z.array(z.unknown()),
  errors: z.array(z.unknown()),
});

const folder = mkdtempSync(join(SCRATCH, "schemathesis-"));
try {
  const { stdout, stderr } = spawnSync(
    program,
    [
      ...["run", `${base}/openapi.json`, "--url", base, "--checks", CHECKS.join(",")],
      // With several workers Python 3.11 now and then fails to parse its own sources.
      ...["--workers", "1", "--max-time", BUDGET_SECONDS, "--request-timeout", "20", "--continue-on-failure"],
      ...["--report", "json", "--report-dir", folder, "--no-color"],
    ],
    { cwd: folder, encoding: "utf8", maxBuffer: 100_000_000 },
  );
  const file = readdirSync(folder).find((name) => name.endsWith(".json"));
  if (file === undefined) throw new Error(`schemathesis left no report: ${stdout}${stderr}`);
  const report = reportSchema.parse(JSON.parse(readFileSync(join(folder, file), "utf8")));
  const found = [...report.failures, ...report.errors];
  if (found.length > 0) console.error(stdout);
  for (const [phase, { status }] of Object.entries(report.phases)) {
    if (status === "skip") continue;
    const outcome = status === "success" ? "ok" : "failed";
    const detail = outcome === "ok" ? "" : `${status}, seed ${report.seed}`;
    console.log(JSON.stringify({ transport: "REST", operation: phase, outcome, detail }));
  }
  const outcome = found.length === 0 && report.test_cases.generated > 100 ? "ok" : "failed";
  const detail = outcome === "ok" ? "" : `${found.length} findings in ${report.test_cases.generated} cases`;
  console.log(JSON.stringify({ transport: "REST", operation: "findings", outcome, detail }));
} finally {
  rmSync(folder, { recursive: true });
}
