HEADER = <<header>>
-- service --
FAILURE = <<failure>>
-- api --
WORKING = <<at work>>
-- page --
# Signs that only walls have, and a TITLE above a WIDGET where there is no FIELD to fill in. zonedeck knows more signs, and
# walls by what they say, which is not checked here: a field that the page must have (--require) notices those, too.
WALLS = [
<<walls>>
]
SCRIPT = <<script>>
TITLE = <<title>>
WIDGET = <<widget>>
FIELD = <<field>>
-- --


def problem(status, headers, body):
    """Why an answer is not ok, or None."""
    lines = "".join(f"\n{name}: {value}" for name, value in headers.items())
-- service --
    if found := re.search(FAILURE, lines, re.I):
        return f"the service reports {found[1]!a}"
-- api --
    if not 200 <= status < 300:
        return f"status {status} of the service"
    reported = headers.get(<<status>>)
    if not reported and (status == 202 or re.search(WORKING, body[:4096].decode("latin-1"), re.I)):
        return "the service is still at work"
    status = int(reported or status)
-- wrapped --
    try:
        wrapped = json.loads(body)
        if "status_code" in wrapped or "body" in wrapped:
            lines += "".join(f"\n{name}: " + str(value).strip("[]'") for name, value in (wrapped.get("headers") or {}).items())
            status, body = int(wrapped.get("status_code", status)), wrapped.get("body", "").encode("utf-8", "replace")
    except (AttributeError, RecursionError, TypeError, ValueError):
        pass  # it is checked as it came
-- --
    if not 200 <= status < 400:
        return f"status {status}"
    if found := re.search(HEADER, lines, re.I):
        return f"a wall, by {found[1]!a}"
-- page --
    if status >= 300 or status in (204, 205):
        return None
    coding = headers.get("content-encoding", "identity")
    if coding.lower() not in ("identity", "gzip", "x-gzip"):
        return f"the coding {coding!a} was not asked for"
    charset = r"charset\s*=\s*\W?([\w.:-]+)"
    named = re.search(charset, headers.get("content-type", ""), re.I)
    # A page that could be read so far is not in UTF-16.
    named = named or re.search("<meta[^<>]*" + charset.replace("(", "(?!utf-16)("), body[:4096].decode("latin-1"), re.I)
    # Python's own names, of which some are no character sets.
    codec = re.sub(r"^x-|-[ei]$|^(?:idna|punycode).*", "", named[1].lower()) if named else "utf-8"
    try:
        page = body.decode(codec.replace("windows-874", "cp874"), "replace").strip("\ufeff \t\r\n")
    except (LookupError, ValueError):
        return f"the character set {named[1]!a} is not known"
    if not page:
        return "the answer is empty"
    if "\0" in page and re.search("text|json|xml", headers.get("content-type", "")):
        return "the body is not text"
    if sign := wall(page):
        return f"a wall, by {sign!a}"
-- required --
    for path in [<<required>>]:
        if missing(page, path):
            return f"the required field {path} is missing"
-- --
    return None
-- page --


def wall(page):
    """The sign by which a page is a wall, or None."""
    if not page.startswith("<"):
        return None
    page = re.sub(<<unread>>, r"\1", page[: 1 << 18], flags=re.I)
    signs = re.findall(SCRIPT, page, re.I)
    page = re.sub(<<script text>>, r"\1", page, flags=re.I)
    signs += [found[1] for pattern in WALLS if (found := re.search(pattern, page, re.I))]
    if re.search(TITLE, page, re.I) and not re.search(FIELD, page, re.I):
        signs += re.findall(WIDGET, page, re.I)
    return signs[0] if signs else None
-- required --


def missing(page, path):
    """Whether a field is not there: a path into JSON, or a CSS selector."""
    try:
        if not page.startswith(("{", "[")):
            raise ValueError
        value = json.loads(page)
    except ValueError:
        try:
            found = Selector(text=page).css(path)[:1]
        except SyntaxError:  # a path into JSON
            return True
        texts = found.xpath("string()").getall() + found.xpath("@content|@value|@src|@href|@datetime|@alt").getall()
        return not any(text.strip() for text in texts)
    for step in path.split("."):
        try:
            value = value[int(step) if isinstance(value, list) else step]
        except (LookupError, TypeError, ValueError):
            return True
    return value in (None, [], {}) or not str(value).strip()
