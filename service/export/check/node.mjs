
// problem is why an answer is not ok, or undefined.
function problem(status, headers, body) {
  let lines = [...headers].map(([name, value]) => `\n${name}: ${value}`).join("");
-- service --
  const failure = <<failure>>;
  const failed = failure.exec(lines);
  if (failed) return "the service reports " + shown(failed[1]);
-- api --
  if (!(status >= 200 && status < 300)) return `status ${status} of the service`;
  const reported = headers.get(<<status>>);
  const working = <<at work>>;
  if (!reported && (status === 202 || working.test(body.toString("latin1", 0, 4096)))) return "the service is still at work";
  status = Number(reported || status);
-- wrapped --
  try {
    const wrapped = JSON.parse(body);
    if ("status_code" in wrapped || "body" in wrapped) {
      lines += Object.entries(wrapped.headers ?? {}).map(([name, value]) => `\n${name}: ${value}`).join("");
      [status, body] = [wrapped.status_code ?? status, Buffer.from(wrapped.body ?? "")];
    }
  } catch {
    // it is checked as it came
  }
-- --
  if (!(status >= 200 && status < 400)) return `status ${status}`;
  const header = <<header>>;
  const challenge = header.exec(lines);
  if (challenge) return "a wall, by " + shown(challenge[1]);
-- page --
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
-- required --
  for (const path of [<<required>>]) if (missing(page, path)) return `the required field ${path} is missing`;
-- --
}
-- page --

// wall is the sign by which a page is a wall, or undefined: one that only walls have, or a title above a widget where there
// is no field to fill in. zonedeck knows more signs, and walls by what they say, which is not checked here: a field that
// the page must have (--require) notices those, too.
function wall(page) {
  const walls = [
<<walls>>
  ];
  const title = <<title>>;
  const widget = <<widget>>;
  const field = <<field>>;
  if (!page.startsWith("<")) return;
  page = page.slice(0, 1 << 18).replace(<<unread>>g, "$1");
  const script = <<script>>;
  const markup = page.replace(<<script text>>g, "$1");
  const found = script.exec(page) ?? walls.map((pattern) => pattern.exec(markup)).find(Boolean);
  if (found) return found[1];
  if (title.test(markup) && !field.test(markup)) return widget.exec(markup)?.[1];
}
-- required --

// missing tells whether a field is not there: a path into JSON, or a CSS selector.
function missing(page, path) {
  let value;
  try {
    if (!/^[{[]/.test(page)) throw new SyntaxError("no JSON");
    value = JSON.parse(page);
  } catch {
    try {
      const found = load(page)(path).first();
      const names = ["content", "value", "src", "href", "datetime", "alt"];
      return ![found.text(), ...names.map((name) => found.attr(name))].some((text) => text?.trim());
    } catch {
      return true; // a path into JSON
    }
  }
  for (const step of path.split(".")) value = value?.[step];
  return /^(?:|\[\]|\{\}|"\s*"|null)$/.test(JSON.stringify(value) ?? "");
}
-- --

function shown(text) {
  return JSON.stringify(text).replace(/[^ -~]/g, "?");
}
