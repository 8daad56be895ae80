// A Playwright client of the remote browser, as its users write it. Its environment says
// where to connect (CDP), which page to open (SITE), and a page of this machine (PRIVATE).
const { chromium } = require('playwright-core');

const message = (e) => String(e.message).split('\n')[0];

(async () => {
  const { CDP, SITE, PRIVATE } = process.env;
  const out = {};
  out.refused = await chromium.connectOverCDP(CDP.replace(/:[^:@/]*@/, ':wrong@')).then((b) => b.close(), (e) => String(e.message));
  const browser = await chromium.connectOverCDP(CDP);
  const context = browser.contexts()[0];
  const page = await context.newPage();
  const answer = await page.goto(SITE + '/login');
  out.status = answer.status();
  await page.fill('input[name=user]', 'lab');
  await page.fill('input[name=password]', 'lamp');
  await page.click('button');
  out.said = await page.textContent('.user');
  out.cookies = (await context.cookies()).map((c) => c.name);
  out.shot = (await page.screenshot({ type: 'png' })).subarray(1, 4).toString();
  await page.goto(SITE + '/js');
  out.rendered = await page.textContent('#products');
  await page.goto(SITE + '/mygeo.json');
  out.geo = JSON.parse(await page.textContent('body'));
  await page.goto(SITE + '/shop');
  out.prices = await page.locator('.price').count();
  const secure = await page.goto(SITE.replace('http:', 'https:') + '/ok');
  out.issuer = (await secure.securityDetails()).issuer;
  out.file = await page.goto('file:///etc/passwd').then(() => 'opened', message);
  out.private = await page.goto(PRIVATE).then(() => 'opened', message);
  const session = await context.newCDPSession(page);
  out.session = (await session.send('Browser.getSessionId')).sessionId;
  await browser.close();
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
