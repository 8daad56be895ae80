package export

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// The browsers fetch a page by going to it: the page's own requests are the browser's.

// checkBrowser refuses what a browser cannot be made to send.
func (c call) checkBrowser() error {
	switch {
	case !c.byProxy():
		return errors.New("a browser goes through the proxy, while the API returns the page by itself: choose Native")
	case c.dots():
		return errDots
	case c.method == http.MethodHead:
		return errors.New("a browser does not go to a page by HEAD")
	case c.method == http.MethodGet && c.body != "":
		return errors.New("a browser sends no body with GET")
	}
	for _, l := range c.header {
		switch {
		case slices.Contains([]string{"Host", "Cookie", "Origin", "Referer", "Accept-Encoding", "Accept-Charset", "Date"}, l.name) || strings.HasPrefix(l.name, "Sec-") || strings.HasPrefix(l.name, "Proxy-"):
			return fmt.Errorf("a browser writes %s itself", l.name)
		case !ascii(l.value):
			return fmt.Errorf("the value of %s is not ASCII, and a browser is handed characters instead of bytes", l.name)
		}
	}
	if !utf8.ValidString(c.body) {
		return errors.New("the body is not text")
	}
	return nil
}

// changes reports whether the request differs from what a browser sends by itself.
func (c call) changes() bool {
	return c.method != http.MethodGet || c.body != "" || len(c.header) > 0
}

// jsOverrides writes the fields of the request that the form has; headers is an expression
// of those that the browser sends.
func (c call) jsOverrides(b *strings.Builder, headers string) {
	fmt.Fprintf(b, "      method: %s,\n", jsString(c.method))
	if c.body != "" {
		fmt.Fprintf(b, "      postData: %s,\n", jsString(c.body))
	}
	fmt.Fprintf(b, "      headers: {\n        ...%s,\n", headers)
	for _, l := range c.single() {
		fmt.Fprintf(b, "        %s: %s,\n", jsString(strings.ToLower(l.name)), jsString(l.value))
	}
	b.WriteString("      },\n")
}

// jsAuthority writes the statements that make authority, the browser's argument that trusts
// the CA: by its key, because Chromium takes no file.
func (c call) jsAuthority(b *strings.Builder) {
	if c.ca == "" {
		return
	}
	fmt.Fprintf(b, "const ca = new X509Certificate(readFileSync(%s));\n", jsString(c.ca))
	b.WriteString("const key = createHash(\"sha256\").update(ca.publicKey.export({ type: \"spki\", format: \"der\" })).digest(\"base64\");\n")
}

// jsImports writes what a program imports, the client last, and its secret.
func (c call) jsImports(b *strings.Builder, client string) {
	if c.ca != "" {
		b.WriteString("import { createHash, X509Certificate } from \"node:crypto\";\nimport { readFileSync } from \"node:fs\";\n")
	}
	b.WriteString(client + "\n\n")
	c.jsSecret(b)
}

// jsRemote writes the statements that make address, the remote browser's with its login.
func (c call) jsRemote(b *strings.Builder) {
	fmt.Fprintf(b, "const address = new URL(%s);\naddress.username = %s;\naddress.password = encodeURIComponent(secret);\n", jsString(c.remote), jsString(c.user))
}

// jsVisit writes the end of a program that goes to the page of a browser.
func (c call) jsVisit(b *strings.Builder) {
	fmt.Fprintf(b, "  const answer = await page.goto(%s, { timeout: %d });\n", jsString(c.url), c.timeout.Milliseconds())
	b.WriteString("  console.error(answer.status());\n  process.stdout.write(await page.content());\n")
	b.WriteString(jsVerdict("  ", "await problem(page, answer)") + "} finally {\n  await browser.close();\n}\n" + c.check(browserCheck, "    ", jsString, jsPattern))
}
