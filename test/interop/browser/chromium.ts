import { type Browser, chromium } from "playwright-core";
import { CHROMIUM } from "../clients.js";

/** Does something with a browser, and closes it. */
export async function withChromium(work: (browser: Browser) => Promise<void>): Promise<void> {
  const browser = await chromium.launch({
    ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
  try {
    await work(browser);
  } finally {
    await browser.close();
  }
}
