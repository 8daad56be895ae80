package export

import (
	"fmt"
	"strings"
)

// writePuppeteer writes a program for Node that goes to the page with Puppeteer.
func writePuppeteer(c call) (string, error) {
	if err := c.checkBrowser(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(comment("//", c.remarks("npm install puppeteer; node puppeteer.mjs", true)))
	c.jsImports(&b, `import puppeteer from "puppeteer";`)
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
	c.jsVisit(&b)
	return b.String(), nil
}

// remotePuppeteer writes a program for Node that goes to the page with the remote browser.
func remotePuppeteer(c call) (string, error) {
	var b strings.Builder
	b.WriteString(comment("//", c.remarks("npm install puppeteer; node puppeteer.mjs", false)))
	c.jsImports(&b, `import puppeteer from "puppeteer";`)
	c.jsRemote(&b)
	b.WriteString("const browser = await puppeteer.connect({ browserWSEndpoint: address.href });\ntry {\n")
	b.WriteString("  const page = await browser.newPage();\n")
	c.jsVisit(&b)
	return b.String(), nil
}
