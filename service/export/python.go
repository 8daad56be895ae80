package export

import (
	"errors"
	"fmt"
	"strings"
)

// writePython writes a program for Python with the library requests.
func writePython(c call) (string, error) {
	switch {
	case c.dots():
		return "", errDots
	case strings.HasPrefix(c.path(), "//"):
		return "", errors.New("requests shortens the // that the path begins with")
	}
	if last := c.path()[strings.LastIndexByte(c.path(), '/')+1:]; strings.IndexByte(last, ';') == len(last)-1 && last != "" {
		return "", errors.New("requests leaves out the ; that the path ends with")
	}
	c = c.asksForGzip()
	var b strings.Builder
	c.pyHead(&b, "pip install requests; python3 fetch.py", "", "import requests\n", true)
	if c.AtOnce > 0 { // the adapter that all sessions share
		fmt.Fprintf(&b, "adapter = requests.adapters.HTTPAdapter(pool_maxsize=%d, pool_block=True)\n", c.AtOnce)
	}
	b.WriteString("\n\ndef fetch():\n    session = requests.Session()\n    session.trust_env = False  # no proxy, login or authority of the environment\n")
	if c.AtOnce > 0 {
		b.WriteString("    session.mount(\"http://\", adapter)\n    session.mount(\"https://\", adapter)\n")
	}
	b.WriteString("    return session.request(\n")
	fmt.Fprintf(&b, "        %s,\n        %s,\n        headers={\n", PythonQuote(c.method), PythonQuote(c.url))
	if !c.byProxy() {
		b.WriteString("            \"Authorization\": \"Bearer \" + key,\n")
	}
	for _, l := range c.single() {
		fmt.Fprintf(&b, "            %s: %s,\n", PythonQuote(l.name), pyText(l.value))
	}
	b.WriteString("        },\n")
	if c.body != "" {
		fmt.Fprintf(&b, "        data=%s,\n", pyBytes(c.body))
	}
	if c.byProxy() {
		b.WriteString("        proxies={\"http\": proxy, \"https\": proxy},\n")
	}
	switch {
	case c.trusts:
		b.WriteString("        verify=False,\n")
	case c.ca != "":
		fmt.Fprintf(&b, "        verify=%s,\n", PythonQuote(c.ca))
	}
	fmt.Fprintf(&b, "        allow_redirects=False,\n        timeout=%d,\n    )\n\n\n", c.seconds())
	b.WriteString(c.check(pythonCheck, "    ", PythonQuote, pyPattern) + "\n\nanswer = fetch()\nprint(answer.status_code, file=sys.stderr)\nsys.stdout.buffer.write(answer.content)\nsys.stdout.buffer.flush()\n")
	b.WriteString("if why := problem(answer.status_code, answer.headers, answer.content):\n    sys.exit(\"not ok: \" + why)\nprint(\"ok\", file=sys.stderr)\n")
	return b.String(), nil
}

// pyHead writes the beginning of a program: how it is run, what it imports besides the usual modules, and its secret.
func (c call) pyHead(b *strings.Builder, run, modules, imports string, joins bool) {
	parts := c.checked()
	if parts["required"] {
		run, imports = strings.Replace(run, "requests", "requests parsel", 1), imports+"from parsel import Selector\n"
	}
	if parts["required"] || parts["wrapped"] {
		modules += "import json\n"
	}
	modules += "import os\nimport re\nimport sys\n"
	if c.byProxy() {
		modules += "from urllib.parse import quote\n"
	}
	b.WriteString("#!/usr/bin/env python3\n" + comment("#", c.remarks(run, joins)) + modules + "\n" + imports + "\n")
	c.pySecret(b)
}

// pyText is a header's value: as bytes where Python would not send it as UTF-8.
func pyText(s string) string {
	if ascii(s) {
		return PythonQuote(s)
	}
	return pyBytes(s)
}

// pySecret writes the statements that make the key, or the proxy's address with its login.
func (c call) pySecret(b *strings.Builder) {
	name := "password"
	if !c.byProxy() {
		name = "key"
	}
	if c.Secret != "" {
		fmt.Fprintf(b, "%s = %s\n", name, PythonQuote(c.Secret))
	} else {
		fmt.Fprintf(b, "%s = os.environ.get(%s)\nif not %s:\n    sys.exit(%s)\n", name, PythonQuote(c.Env()), name, PythonQuote(c.Env()+" is not set"))
	}
	if !c.byProxy() {
		return
	}
	fmt.Fprintf(b, "username = %s\n", PythonQuote(c.user))
	fmt.Fprintf(b, "proxy = f\"http://{quote(username, safe='')}:{quote(password, safe='')}@%s\"\n", c.proxy)
}

// seconds is the timeout in whole seconds, at least one.
func (c call) seconds() int64 { return max(1, int64(c.timeout.Seconds())) }
