// A headless Chromium of the client's own, on its way through the proxy with a login. Its
// environment says where Chromium is (CHROMIUM), the proxy (PROXY), and as JSON the visits:
// each a login (user, password), an address, and the key of the authority to trust (spki,
// base64; nothing trusts what the machine trusts).
const { chromium } = require('playwright-core');

(async () => {
  const { CHROMIUM, PROXY, VISITS } = process.env;
  const visits = JSON.parse(VISITS);
  const out = [];
  for (const spki of new Set(visits.map((v) => v.spki))) {
    const browser = await chromium.launch({
      executablePath: CHROMIUM, args: spki ? ['--ignore-certificate-errors-spki-list=' + spki] : [],
      proxy: { server: 'http://per-context' },
    });
    for (const v of visits.filter((v) => v.spki === spki)) {
      const context = await browser.newContext({ proxy: { server: PROXY, username: v.user, password: v.password } });
      const page = await context.newPage();
      const seen = { address: v.address };
      try {
        const answer = await page.goto(v.address);
        seen.status = answer.status();
        seen.text = await page.textContent('body');
        seen.ip = answer.headers()['x-brd-ip'];
        seen.issuer = (await answer.securityDetails())?.issuer;
      } catch (e) {
        seen.error = String(e.message).split('\n')[0];
      }
      out[visits.indexOf(v)] = seen;
      await context.close();
    }
    await browser.close();
  }
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
