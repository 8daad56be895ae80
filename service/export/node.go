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
	var b strings.Builder
	run := "node fetch.mjs"
	if c.byProxy() {
		run = "npm install undici; node fetch.mjs"
	}
	b.WriteString(comment("//", c.remarks(run, true)))
	if c.ca != "" {
		b.WriteString("import { readFileSync } from \"node:fs\";\nimport { rootCertificates } from \"node:tls\";\n")
	}
	if c.byProxy() {
		b.WriteString("import { fetch, ProxyAgent } from \"undici\";\n\n")
	}
	c.jsSecret(&b)
	if c.byProxy() {
		fmt.Fprintf(&b, "const dispatcher = new ProxyAgent({\n  uri: %s,\n", jsString("http://"+c.proxy))
		fmt.Fprintf(&b, "  token: \"Basic \" + Buffer.from(%s + secret).toString(\"base64\"),\n", jsString(c.user+":"))
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
	b.WriteString("console.error(answer.status);\nprocess.stdout.write(Buffer.from(await answer.arrayBuffer()));\n")
	if c.byProxy() {
		b.WriteString("await dispatcher.close();\n")
	}
	return b.String(), nil
}

// nodeHeaders writes the headers; fetch takes their bytes, one for each character.
func (c call) nodeHeaders(b *strings.Builder) {
	if c.byProxy() && len(c.header) == 0 {
		return
	}
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

// jsSecret writes the statements that make the secret.
func (c call) jsSecret(b *strings.Builder) {
	if c.Secret != "" {
		fmt.Fprintf(b, "const secret = %s;\n", jsString(c.Secret))
		return
	}
	fmt.Fprintf(b, "const secret = process.env[%s];\nif (!secret) throw new Error(%s);\n", jsString(c.Env()), jsString(c.Env()+" is not set"))
}
