// node fetch.mjs
// ACME_KEY is the API key
// compared runs: 3 of 3 ok
// no more than 12 of these at once: safe 12 (13 is refused twice), 4.0/s, p95 3.1 s, probed 2026-11-29 14:02

const secret = process.env["ACME_KEY"];
if (!secret) throw new Error("ACME_KEY is not set");
const answer = await fetch("https://api.test/request", {
  method: "POST",
  headers: {
    Authorization: "Bearer " + secret,
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
  },
  body: Buffer.from('{"zone":"unlocker_demo","url":"https://shop.test/find?q=it\'s&x=\\"é\\"","format":"raw","method":"POST","headers":{"Content-Type":"application/json","X-It":"it\'s 100%, two"},"body":"{\\"name\\":\\"it\'s é\\"}","country":"de"}'),
  redirect: "manual",
  signal: AbortSignal.timeout(180000),
});
const body = Buffer.from(await answer.arrayBuffer());
console.error(answer.status);
process.stdout.write(body);
const why = problem(answer.status, answer.headers, body);
console.error(why ? "not ok: " + why : "ok");
if (why) process.exitCode = 1;

// problem is why an answer is not ok, or undefined.
function problem(status, headers, body) {
  let lines = [...headers].map(([name, value]) => `\n${name}: ${value}`).join("");
  const failure = /\n(?:x-brd-error|x-brd-error-code|x-brd-err-code|x-brd-err-msg|proxy-status: [^\n]*\berror)[:=][ \t]*([^\s][^\n]*)/i;
  const failed = failure.exec(lines);
  if (failed) return "the service reports " + shown(failed[1]);
  if (!(status >= 200 && status < 300)) return `status ${status} of the service`;
  const reported = headers.get("x-brd-status-code");
  const working = /^\s*(\{\s*(?:(?:\x22(?:response_id|snapshot_id)\x22\s*:\s*\x22(?:[^\x22\\]|\\.)*\x22|\x22message\x22\s*:\s*\x22(?:[^\x22\\]|\\.)*\x22|\x22pending\x22\s*:\s*true|\x22status\x22\s*:\s*\x22(?:building|collecting|in_progress|pending|processing|queued|running|scheduled|starting)\x22)\s*,\s*)*\x22(?:response_id|snapshot_id)\x22\s*:\s*\x22(?:[^\x22\\]|\\.)*\x22\s*(?:,\s*(?:\x22(?:response_id|snapshot_id)\x22\s*:\s*\x22(?:[^\x22\\]|\\.)*\x22|\x22message\x22\s*:\s*\x22(?:[^\x22\\]|\\.)*\x22|\x22pending\x22\s*:\s*true|\x22status\x22\s*:\s*\x22(?:building|collecting|in_progress|pending|processing|queued|running|scheduled|starting)\x22)\s*)*\})\s*$/i;
  if (!reported && (status === 202 || working.test(body.toString("latin1", 0, 4096)))) return "the service is still at work";
  status = Number(reported || status);
  if (!(status >= 200 && status < 400)) return `status ${status}`;
  const header = /\n(cf-mitigated: challenge|x-amzn-waf-action: captcha|x-amzn-waf-action: challenge|sg-captcha: challenge|x-vercel-mitigated: challenge|location: [^\n?]*(?:queue-it\.net|captcha-delivery\.com|validate\.perfdrive\.com|wappass\.baidu\.com[^\n?]*\/static\/captcha|verify\.meituan\.com|linkedin\.com[^\n?]*\/checkpoint\/challenge|google\.[^\n?]*\/sorry\/|\/\.well-known\/sgcaptcha|\/\.within\.website\/x\/cmd\/anubis\/|\/_____tmd_____\/|\/showcaptcha|\/errors\/validatecaptcha|\/splashui\/captcha|\/splashui\/challenge|\/distil_r_|\/_incapsula_resource|\/cdn-cgi\/challenge-platform\/|\?[^\n]*__cf_chl_|\?[^\n]*bm-verify=))/i;
  const challenge = header.exec(lines);
  if (challenge) return "a wall, by " + shown(challenge[1]);
  if (status >= 300 || status === 204 || status === 205) return;
  const coding = headers.get("content-encoding") || "identity";
  if (!/^(?:identity|(?:x-)?gzip)$/i.test(coding)) return `the coding ${shown(coding)} was not asked for`;
  const charset = /charset\s*=\s*\W?([\w.:-]+)/i;
  const meta = /<meta[^<>]*charset\s*=\s*\W?(?!utf-16)([\w.:-]+)/i; // a page that could be read so far is not in UTF-16
  const type = headers.get("content-type") ?? "";
  const [, named] = charset.exec(type) ?? meta.exec(body.toString("latin1", 0, 4096)) ?? ["", "utf-8"];
  let page;
  try {
    page = new TextDecoder(named).decode(body).trim();
  } catch {
    return `the character set ${shown(named)} is not known`;
  }
  if (!page) return "the answer is empty";
  if (page.includes("\0") && /text|json|xml/.test(type)) return "the body is not text";
  const sign = wall(page);
  if (sign) return "a wall, by " + shown(sign);
}

// wall is the sign by which a page is a wall, or undefined: one that only walls have, or a title above a widget where there
// is no field to fill in. zonedeck knows more signs, and walls by what they say, which is not checked here: a field that
// the page must have (--require) notices those, too.
function wall(page) {
  const walls = [
    /<[a-z][^<>]*\s(?:id|class)=(?:[^=<>]*[^\w<>-])?(anubis_challenge|baxia-punish|cf-browser-verification|cf-captcha-container|cf-challenge|cf-challenge-running|cf-im-under-attack|checkboxcaptcha|distilcaptchaform|px-captcha|sec-cpt-if|sec-if-cpt-container|waf_nc_block)[^\w-]/i,
    /<script\s[^<>]*(?:src|action)=[^<>\s]{0,500}(challenge-platform\/[^<>]{0,200}\/orchestrate\/|captcha-delivery\.com\/|captcha\.px-cdn\.net\/|captcha\.px-cloud\.net\/|\/_sec\/cp_challenge\/|\/\.safeline\/|\/\.within\.website\/x\/cmd\/anubis\/|\/\.bunny-shield\/assets\/shield-challenge|\/static\/touch\/js\/mkdjump)/i,
    /<iframe\s[^<>]*(?:src|action)=[^<>\s]{0,500}(captcha-delivery\.com\/|_incapsula_resource|\/checkpoint\/challenge\/)/i,
    /<form\s[^<>]*(?:src|action)=[^<>\s]{0,500}(__cf_chl_|\/_____tmd_____\/|\/\.well-known\/sgcaptcha|\/errors\/validatecaptcha|\/checkcaptcha)/i,
  ];
  const title = /<title[^<>]*>(?:[^<]*\s[^\w\s]+\s)?\s*(just a moment|attention required|are you a robot|are you human|are you a human|robot or human|robot check|robot challenge screen|verify|verification|verification required|security verification|verify you are human|verify you are a human|please verify you are human|please verify you are a human|please verify you are not a robot|human verification|bot verification|security check|vercel security checkpoint|pardon our interruption|access to this page has been denied|checking your browser|one more step|captcha|captcha interception|captcha challenge)[^\w<]*(?:<|\s[^\w\s]+\s)/i;
  const widget = /<[a-z][^<>]*\s(?:id|class)=[^=<>]{0,200}?([\w-]{0,40}(?:captcha|turnstile|geetest|arkose|challenges\.cloudflare\.com\/))/i;
  const field = /<(?:textarea|select)\b|<input\b[^<>]*\stype=\W?(?:text|email|password|search|tel|number)\b/i;
  if (!page.startsWith("<")) return;
  page = page.slice(0, 1 << 18).replace(/(<script\b[^<>]*>[\s\S]*?(?:<\/script|$))|<style\b[\s\S]*?(?:<\/style|$)|<!--(?:-?>|[\s\S]*?(?:-->|$))|<textarea[\s\S]*?(?:<\/textarea>|$)/ig, "$1");
  const script = /<script(?:\s(?:nonce|defer|async|type=\W?(?:text\/javascript|module))[^<>]*)?>[^<]*(_pxAppId[^<]{0,900}captcha\.js|toNumbers\([^<]{0,900}__test=|rbzns[^<]{0,900}winsocks|_cf_chl_opt|gokuProps|geo\.captcha-delivery\.com[^<]{0,900}dd=|bm-verify[^<]{0,900}\/_sec\/verify|sucuri_cloudproxy_js|sgchallenge[^<]{0,900}sgcaptcha|acw_sc__v2[^<]{0,900}arg1=|validate\.perfdrive\.com[^<]{0,900}location|KPSDK\.start=KPSDK\.now\(\)|RecaptchaChallengePageUi|EO_Bot_Ssid[^<]{0,900}__tst_status)/i;
  const markup = page.replace(/(<script\b[^<>]*>)[\s\S]*?(?:<\/script|$)/ig, "$1");
  const found = script.exec(page) ?? walls.map((pattern) => pattern.exec(markup)).find(Boolean);
  if (found) return found[1];
  if (title.test(markup) && !field.test(markup)) return widget.exec(markup)?.[1];
}

function shown(text) {
  return JSON.stringify(text).replace(/[^ -~]/g, "?");
}
