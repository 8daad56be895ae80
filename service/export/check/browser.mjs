
// problem is why the page is not ok, or undefined: its status, or a sign that only walls have, or a title above a widget where
// there is no field to fill in. zonedeck knows more signs, and walls by what they say, which is not checked here: a field
// that the page must have (--require) notices those, too.
async function problem(page, answer) {
  const headers = { ...answer.headers(), location: page.url() };
  const lines = Object.entries(headers).map(([name, value]) => `\n${name}: ${value}`).join("");
-- service --
  const failure = <<failure>>;
  const reported = failure.exec(lines);
  if (reported) return "the service reports " + shown(reported[1]);
-- --
  if (!(answer.status() >= 200 && answer.status() < 400)) return `status ${answer.status()}`;
  const header = <<header>>;
  const walls = [
<<walls>>
  ];
  const title = <<title>>;
  const widget = <<widget>>;
  const field = <<field>>;
  const script = <<script>>;
  const text = (await page.content()).slice(0, 1 << 18).replace(<<unread>>g, "$1");
  const markup = text.replace(<<script text>>g, "$1");
  let found = header.exec(lines) ?? script.exec(text) ?? walls.map((pattern) => pattern.exec(markup)).find(Boolean);
  if (!found && title.test(markup) && !field.test(markup)) found = widget.exec(markup);
  if (found) return "a wall, by " + shown(found[1]);
  if (await page.evaluate(() => !document.body?.children.length && !document.body?.textContent.trim())) return "the page is empty";
-- required --
  const missing = await page.evaluate((paths) => paths.find((path) => {
    if (document.contentType.includes("json")) {
      let value = JSON.parse(document.body.innerText);
      for (const step of path.split(".")) value = value?.[step];
      return /^(?:|\[\]|\{\}|"\s*"|null)$/.test(JSON.stringify(value) ?? "");
    }
    const found = document.querySelector(path);
    const names = ["content", "value", "src", "href", "datetime", "alt"];
    return ![found?.textContent, ...names.map((name) => found?.getAttribute(name))].some((text) => text?.trim());
  }), [<<required>>]);
  if (missing) return `the required field ${missing} is missing`;
-- --
}

function shown(text) {
  return JSON.stringify(text).replace(/[^ -~]/g, "?");
}
