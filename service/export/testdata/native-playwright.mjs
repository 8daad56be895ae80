// npm install playwright; node playwright.mjs
// ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo
// compared runs: 3 of 3 ok
// the lines of X-It are sent as one
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { chromium } from "playwright";

const secret = process.env["ZONEDECK_ZONE_PASSWORD"];
if (!secret) throw new Error("ZONEDECK_ZONE_PASSWORD is not set");
const ca = new X509Certificate(readFileSync("/etc/service ca.pem"));
const key = createHash("sha256").update(ca.publicKey.export({ type: "spki", format: "der" })).digest("base64");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM, // unset, Playwright's own
  proxy: { server: "http://proxy.test:33335", username: "brd-customer-hl_demo01-zone-unlocker_demo-country-de", password: secret },
  args: ["--ignore-certificate-errors-spki-list=" + key],
});
try {
  const page = await browser.newPage();
  await page.route("**/*", (route) =>
    route.continue({
      method: "POST",
      postData: '{"name":"it\'s é"}',
      headers: {
        ...route.request().headers(),
        "content-type": "application/json",
        "x-it": "it's 100%, two",
      },
    }), { times: 1 });
  const answer = await page.goto("https://shop.test/find?q=it%27s&x=%22%C3%A9%22", { timeout: 180000 });
  console.error(answer.status());
  process.stdout.write(await page.content());
} finally {
  await browser.close();
}
