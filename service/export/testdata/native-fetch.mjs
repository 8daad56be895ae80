// npm install undici; node fetch.mjs
// ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo
// compared runs: 3 of 3 ok
// the lines of X-It are sent as one
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { fetch, ProxyAgent } from "undici";

const secret = process.env["ZONEDECK_ZONE_PASSWORD"];
if (!secret) throw new Error("ZONEDECK_ZONE_PASSWORD is not set");
const dispatcher = new ProxyAgent({
  uri: "http://proxy.test:33335",
  token: "Basic " + Buffer.from("brd-customer-hl_demo01-zone-unlocker_demo-country-de:" + secret).toString("base64"),
  requestTls: { ca: [...rootCertificates, readFileSync("/etc/service ca.pem", "utf8")] },
});
const answer = await fetch("https://shop.test/find?q=it%27s&x=%22%C3%A9%22", {
  dispatcher,
  method: "POST",
  headers: {
    "Content-Type": "application/json",
    "X-It": "it's 100%, two",
  },
  body: Buffer.from('{"name":"it\'s é"}'),
  redirect: "manual",
  signal: AbortSignal.timeout(180000),
});
console.error(answer.status);
process.stdout.write(Buffer.from(await answer.arrayBuffer()));
await dispatcher.close();
