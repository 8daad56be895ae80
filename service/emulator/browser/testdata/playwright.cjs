// A Playwright client as its users write it. argv: the address to connect to, a page.
const { chromium } = require('playwright-core');

(async () => {
  const [, , endpoint, page] = process.argv;
  const out = {};
  // The address of /json/version leads to a session as well.
  await (await chromium.connectOverCDP(endpoint.replace('ws:', 'http:'))).close();
  const browser = await chromium.connectOverCDP(endpoint);
  out.version = browser.version();
  const first = await browser.contexts()[0].newPage();
  await first.goto(page);
  out.title = await first.title();
  await first.fill('#name', 'playwright');
  await first.click('#go');
  await first.waitForSelector('#said');
  out.said = await first.textContent('#said');
  out.shot = (await first.screenshot()).subarray(1, 4).toString();
  await first.route('**/answered', (route) => route.fulfill({ body: 'by the client' }));
  out.routed = await first.evaluate(() => fetch('/answered').then((r) => r.text()));
  const [popup] = await Promise.all([first.waitForEvent('popup'), first.evaluate(() => { window.open('/second') })]);
  await popup.waitForLoadState();
  out.popup = await popup.title();

  const context = await browser.newContext({ viewport: { width: 320, height: 200 } });
  const second = await context.newPage();
  const answer = await second.goto(page);
  out.status = answer.status();
  out.width = await second.evaluate(() => innerWidth);
  out.cookies = (await context.cookies()).length;
  const session = await context.newCDPSession(second);
  out.captcha = (await session.send('Captcha.solve', { detectTimeout: 100 })).status;
  out.session = (await session.send('Browser.getSessionId')).sessionId;
  out.file = await second.goto('file:///etc/hostname').then(() => 'opened', (e) => String(e.message));
  // A file of the client's own machine travels in a message.
  await second.setInputFiles('#file', { name: 'mine.txt', mimeType: 'text/plain', buffer: Buffer.from('from the client') });
  out.upload = await second.evaluate(() => document.getElementById('file').files[0].text());
  out.pages = browser.contexts().map((c) => c.pages().map((p) => new URL(p.url()).pathname));
  await context.close();
  await browser.close();
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
