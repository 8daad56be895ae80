// Node's own fetch through an agent. Its environment says the proxy with a login (PROXY), the
// authority to trust (CA, a file; may be empty), and the addresses (ADDRESSES, JSON).
const { readFileSync } = require('node:fs');
const { ProxyAgent } = require('undici');

(async () => {
  const { PROXY, CA, ADDRESSES } = process.env;
  const u = new URL(PROXY);
  const token = 'Basic ' + Buffer.from(decodeURIComponent(u.username) + ':' + decodeURIComponent(u.password)).toString('base64');
  const dispatcher = new ProxyAgent({ uri: u.origin, token, requestTls: CA ? { ca: readFileSync(CA) } : {} });
  const out = [];
  for (const address of JSON.parse(ADDRESSES)) {
    const seen = { address };
    try {
      const answer = await fetch(address, { dispatcher, method: 'POST', body: 'from node' });
      seen.status = answer.status;
      seen.ip = answer.headers.get('x-brd-ip');
      seen.text = await answer.text();
    } catch (e) {
      seen.error = String(e.cause?.code ?? e.cause?.message ?? e.message);
    }
    out.push(seen);
  }
  await dispatcher.close();
  console.log(JSON.stringify(out));
})().catch((e) => { console.error(e); process.exit(1); });
