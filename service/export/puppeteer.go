package export

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// writePuppeteer writes a program for Node that goes to the page with Puppeteer.
func writePuppeteer(c call) (string, error) {
	if err := c.checkBrowser(); err != nil {
		return "", err
	}
	if !utf8.ValidString(c.body) {
		return "", errors.New("the body is not text")
	}
	var b strings.Builder
	b.WriteString(comment("//", c.remarks("npm install puppeteer; node puppeteer.mjs", true)))
	c.jsImports(&b)
	b.WriteString("import puppeteer from \"puppeteer\";\n\n")
	c.jsSecret(&b)
	c.jsAuthority(&b)
	b.WriteString("const browser = await puppeteer.launch({\n")
	if c.trusts {
		b.WriteString("  acceptInsecureCerts: true,\n")
	}
	fmt.Fprintf(&b, "  args: [\n    %s,\n", jsString("--proxy-server=http://"+c.proxy))
	if c.ca != "" {
		b.WriteString("    \"--ignore-certificate-errors-spki-list=\" + key,\n")
	}
	b.WriteString("  ],\n});\ntry {\n  const page = await browser.newPage();\n")
	fmt.Fprintf(&b, "  await page.authenticate({ username: %s, password: secret });\n", jsString(c.user))
	if c.changes() {
		b.WriteString("  await page.setRequestInterception(true);\n  let first = true;\n  page.on(\"request\", (request) => {\n")
		b.WriteString("    if (!first) return request.continue();\n    first = false;\n    request.continue({\n")
		c.jsOverrides(&b, "request.headers()")
		b.WriteString("    });\n  });\n")
	}
	fmt.Fprintf(&b, "  const answer = await page.goto(%s, { timeout: %d });\n", jsString(c.url), c.timeout.Milliseconds())
	b.WriteString("  console.error(answer.status());\n  process.stdout.write(await page.content());\n} finally {\n  await browser.close();\n}\n")
	return b.String(), nil
}
