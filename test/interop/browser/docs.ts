/**
 * The page at `/docs` in Chromium: it shows the operations of the OpenAPI document, asks nobody but the gateway for
 * anything, keeps to its content security policy, and calls the gateway when its reader asks for it.
 *
 * Argument: base URL of the gateway. A picture of the page is left in `.tmp/docs.png`.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { ROOT } from "../clients.js";
import { attempt } from "../report.js";
import { withChromium } from "./chromium.js";

const [base = ""] = process.argv.slice(2);
const TRANSPORT = "HTTP/1.1";

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Operations of the document, as the page names them. */
async function operationsOf(): Promise<string[]> {
  const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as Document;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => ["get", "post", "delete"].includes(key))
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
}

async function shownBy(page: Page): Promise<string[]> {
  await page.waitForSelector(".opblock-summary");
  const textsOf = (part: string) => page.locator(`.opblock-summary ${part}`).allTextContents();
  const methods = await textsOf(".opblock-summary-method");
  const paths = await textsOf(".opblock-summary-path");
  // The page puts characters of no width where a path may be broken.
  return methods.map((method, index) => `${method} ${paths[index]?.replaceAll("\u200b", "")}`);
}

/** Opens an operation, fills in what it needs, sends it and returns the status that the page shows. */
async function callThrough(page: Page, id: string, values: readonly string[]): Promise<string | null> {
  const block = page.locator(`[id$="-${id}"]`).first();
  await block.locator(".opblock-summary").click();
  await block.locator(".try-out__btn").click();
  for (const [index, value] of values.entries()) await block.locator("tbody input").nth(index).fill(value);
  await block.locator(".execute").click();
  return await block.locator(".live-responses-table .response-col_status").last().textContent();
}

await withChromium(async (browser) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  const foreign: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== base)
      foreign.push(request.url());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await attempt(TRANSPORT, "load", async () => {
    assert.equal((await page.goto(`${base}/docs`))?.status(), 200);
  });
  await attempt(TRANSPORT, "operations", async () => {
    const shown = await shownBy(page);
    assert.deepEqual(shown.toSorted(), (await operationsOf()).toSorted());
    mkdirSync(join(ROOT, ".tmp"), { recursive: true });
    await page.screenshot({ path: join(ROOT, ".tmp", "docs.png") });
  });
  await attempt(TRANSPORT, "call", async () => {
    assert.match(String(await callThrough(page, "ListTasks", [])), /^200/);
    await page.screenshot({ path: join(ROOT, ".tmp", "docs-call.png") });
  });
  await attempt(TRANSPORT, "no other host", () => assert.deepEqual(foreign, []));
  await attempt(TRANSPORT, "no complaint", () => assert.deepEqual(complaints, []));
});
