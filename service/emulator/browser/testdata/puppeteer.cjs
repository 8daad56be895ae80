// A Puppeteer client as its users write it. argv: the address to connect to, a page.
const puppeteer = require('puppeteer-core');

(async () => {
  const [, , endpoint, address] = process.argv;
  const out = {};
  const browser = await puppeteer.connect({ browserWSEndpoint: endpoint });
  out.version = await browser.version();
  const page = await browser.newPage();
  const answer = await page.goto(address, { waitUntil: 'networkidle2' });
  out.status = answer.status();
  out.title = await page.title();
  await page.type('#name', 'puppeteer');
  await page.click('#go');
  await page.waitForSelector('#said');
  out.said = await page.$eval('#said', (e) => e.textContent);
  out.shot = Buffer.from(await page.screenshot()).subarray(1, 4).toString();
  const context = await browser.createBrowserContext();
  const other = await context.newPage();
  out.other = (await other.goto(address)).status();
  out.targets = browser.targets().map((t) => t.type()).sort();
  out.file = await other.goto('file:///etc/hostname').then(() => 'opened', (e) => String(e.message));
  await context.close();
  await browser.close();
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
