package export

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// writeNode writes a program for Node that calls fetch; through the proxy it is undici's.
func writeNode(c call) (string, error) {
	switch {
	case c.dots():
		return "", errDots
	case c.body != "" && (c.method == http.MethodGet || c.method == http.MethodHead):
		return "", fmt.Errorf("fetch sends no body with %s", c.method)
	case c.method == "TRACK":
		return "", errors.New("fetch does not send TRACK")
	}
	c = c.asksForGzip()
	var b strings.Builder
	run, imports := "node fetch.mjs", ""
	if c.checked()["required"] {
		run, imports = "npm install cheerio; "+run, "import { load } from \"cheerio\";\n"
	}
	if c.byProxy() {
		run, imports = "npm install undici; "+run, "import { fetch, ProxyAgent } from \"undici\";\n"+imports
	}
	b.WriteString(comment("//", c.remarks(run, true)))
	if c.ca != "" {
		b.WriteString("import { readFileSync } from \"node:fs\";\nimport { rootCertificates } from \"node:tls\";\n")
	}
	b.WriteString(imports + "\n")
	c.jsSecret(&b)
	if c.byProxy() {
		fmt.Fprintf(&b, "const dispatcher = new ProxyAgent({\n  uri: %s,\n", jsString("http://"+c.proxy))
		fmt.Fprintf(&b, "  token: \"Basic \" + Buffer.from(%s + secret).toString(\"base64\"),\n", jsString(c.user+":"))
		if c.AtOnce > 0 {
			fmt.Fprintf(&b, "  connections: %d,\n", c.AtOnce)
		}
		switch {
		case c.trusts:
			b.WriteString("  requestTls: { rejectUnauthorized: false },\n")
		case c.ca != "":
			fmt.Fprintf(&b, "  requestTls: { ca: [...rootCertificates, readFileSync(%s, \"utf8\")] },\n", jsString(c.ca))
		}
		b.WriteString("});\n")
	}
	fmt.Fprintf(&b, "const answer = await fetch(%s, {\n", jsString(c.url))
	if c.byProxy() {
		b.WriteString("  dispatcher,\n")
	}
	fmt.Fprintf(&b, "  method: %s,\n", jsString(c.method))
	c.nodeHeaders(&b)
	if c.body != "" {
		fmt.Fprintf(&b, "  body: %s,\n", jsBytes(c.body))
	}
	fmt.Fprintf(&b, "  redirect: \"manual\",\n  signal: AbortSignal.timeout(%d),\n});\n", c.timeout.Milliseconds())
	b.WriteString("const body = Buffer.from(await answer.arrayBuffer());\nconsole.error(answer.status);\nprocess.stdout.write(body);\n")
	b.WriteString(jsVerdict("", "problem(answer.status, answer.headers, body)"))
	if c.byProxy() {
		b.WriteString("await dispatcher.close();\n")
	}
	return b.String() + c.check(nodeCheck, "    ", jsString, jsPattern), nil
}

// nodeHeaders writes the headers; fetch takes their bytes, one for each character.
func (c call) nodeHeaders(b *strings.Builder) {
	b.WriteString("  headers: {\n")
	if !c.byProxy() {
		b.WriteString("    Authorization: \"Bearer \" + secret,\n")
	}
	for _, l := range c.single() {
		value := jsString(l.value)
		if !ascii(l.value) {
			value = jsBytes(l.value) + ".toString(\"latin1\")"
		}
		fmt.Fprintf(b, "    %s: %s,\n", jsString(l.name), value)
	}
	b.WriteString("  },\n")
}

// jsVerdict are the statements that say whether an answer is ok, and end the program accordingly.
func jsVerdict(indent, problem string) string {
	return indent + "const why = " + problem + ";\n" + indent + "console.error(why ? \"not ok: \" + why : \"ok\");\n" + indent + "if (why) process.exitCode = 1;\n"
}

// jsSecret writes the statements that make the secret.
func (c call) jsSecret(b *strings.Builder) {
	if c.Secret != "" {
		fmt.Fprintf(b, "const secret = %s;\n", jsString(c.Secret))
		return
	}
	fmt.Fprintf(b, "const secret = process.env[%s];\nif (!secret) throw new Error(%s);\n", jsString(c.Env()), jsString(c.Env()+" is not set"))
}
