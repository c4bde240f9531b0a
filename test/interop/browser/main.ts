/**
 * Chromium as a client: a page of another origin calls the gateway over Connect, gRPC-Web, JSON-RPC and REST.
 *
 * Argument: base URL of the gateway.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { withChromium } from "./chromium.js";

const [base = ""] = process.argv.slice(2);

/** The page's script as one file. */
async function bundle(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      lib: {
        entry: fileURLToPath(new URL("page.ts", import.meta.url)),
        formats: ["es"],
      },
    },
  });
  const outputs = Array.isArray(built) ? built : [built];
  const chunks = outputs.flatMap((one) => ("output" in one ? one.output : []));
  return chunks.map((chunk) => ("code" in chunk ? chunk.code : "")).join("\n");
}

const script = await bundle();
const pages = createServer((request, response) => {
  const isScript = request.url === "/page.js";
  response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
  response.end(isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>');
});
pages.listen(0, "127.0.0.1");
await once(pages, "listening");

await withChromium(async (browser) => {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
  await page.waitForFunction(() => "tryOut" in window);
  const outcomes = await page.evaluate((gateway) => window.tryOut(gateway), base);
  for (const outcome of outcomes) {
    console.log(JSON.stringify({ ...outcome, outcome: outcome.detail === "" ? "ok" : "failed" }));
  }
}).finally(() => pages.close());
