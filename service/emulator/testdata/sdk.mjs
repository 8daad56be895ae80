// The service's SDK for JavaScript, by others: what its users do first. A test runs it
// with what to do in its environment, and it prints what it saw as one JSON object.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { MODULES, KEY, DATASET } = process.env;
const { bdclient } = await import(pathToFileURL(MODULES + "/@brightdata/sdk/dist/esm/index.mjs").href);

const client = new bdclient({ apiKey: KEY, logLevel: "CRITICAL" });
const seen = { failed: {} };
const page = "http://lab.test/docs/brass-desk-lamp-review";

async function step(name, run) {
  try {
    seen[name] = await run();
  } catch (e) {
    seen.failed[name] = String(e.message ?? e);
  }
}

await step("before", () => client.listZones());
await step("raw", () => client.scrape(page));
await step("json", () => client.scrape(page, { format: "json", country: "de" }));
await step("markdown", () => client.scrape(page, { dataFormat: "markdown" }));
await step("batch", () => client.scrape(["http://lab.test/ok", "http://lab.test/json"]));
await step("posted", () => client.scrape("http://lab.test/whoami", { method: "POST" }));
await step("shot", async () => (await client.scrape(page, { dataFormat: "screenshot" })).slice(0, 8));
await step("google", () => client.search("brass desk lamp"));
await step("bing", () => client.search("brass desk lamp", { searchEngine: "bing", dataFormat: "markdown" }));
await step("searches", () => client.search(["bread", "lamp"], { format: "json" }));
await step("zones", () => client.listZones());

// The SDK knows a dataset id for each of its methods; run is what they all call.
const any = client.datasets.linkedin;
await step("collected", () => any.run([{ url: page }], DATASET, { format: "json", includeErrors: true }));
await step("triggered", () => any.run([{ url: page }, { url: "http://lab.test/ok" }], DATASET, { async: true, format: "jsonl" }));
const id = seen.triggered?.snapshot_id;
await step("ended", async () => {
  for (;;) {
    const state = await client.datasets.snapshot.getStatus(id);
    if (state.status !== "running" && state.status !== "starting" && state.status !== "building") return state;
    await new Promise((again) => setTimeout(again, 50));
  }
});
await step("records", async () => {
  const file = await client.datasets.snapshot.download(id, { filename: "records.json", format: "json" });
  return JSON.parse(readFileSync(file, "utf8"));
});
// An id of the public catalogue, and a key that is none: what the SDK says of refusals.
await step("catalogue", () => any.collectProfiles([{ url: page }]));
await step("key", () => new bdclient({ apiKey: "0".repeat(64), logLevel: "CRITICAL" }).listZones());
console.log(JSON.stringify(seen));
