// npm install puppeteer; node puppeteer.mjs
// ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo
// compared runs: 3 of 3 ok
// the lines of X-It are sent as one
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import puppeteer from "puppeteer";

const secret = process.env["ZONEDECK_ZONE_PASSWORD"];
if (!secret) throw new Error("ZONEDECK_ZONE_PASSWORD is not set");
const ca = new X509Certificate(readFileSync("/etc/service ca.pem"));
const key = createHash("sha256").update(ca.publicKey.export({ type: "spki", format: "der" })).digest("base64");
const browser = await puppeteer.launch({
  args: [
    "--proxy-server=http://proxy.test:33335",
    "--ignore-certificate-errors-spki-list=" + key,
  ],
});
try {
  const page = await browser.newPage();
  await page.authenticate({ username: "brd-customer-hl_demo01-zone-unlocker_demo-country-de", password: secret });
  await page.setRequestInterception(true);
  let first = true;
  page.on("request", (request) => {
    if (!first) return request.continue();
    first = false;
    request.continue({
      method: "POST",
      postData: '{"name":"it\'s é"}',
      headers: {
        ...request.headers(),
        "content-type": "application/json",
        "x-it": "it's 100%, two",
      },
    });
  });
  const answer = await page.goto("https://shop.test/find?q=it%27s&x=%22%C3%A9%22", { timeout: 180000 });
  console.error(answer.status());
  process.stdout.write(await page.content());
} finally {
  await browser.close();
}
