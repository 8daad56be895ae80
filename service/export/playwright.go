package export

import (
	"fmt"
	"strings"
)

// writePlaywright writes a program for Node that goes to the page with Playwright.
func writePlaywright(c call) (string, error) {
	if err := c.checkBrowser(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(comment("//", c.remarks("npm install playwright; node playwright.mjs", true)))
	c.jsImports(&b, `import { chromium } from "playwright";`)
	c.jsAuthority(&b)
	b.WriteString("const browser = await chromium.launch({\n  executablePath: process.env.CHROMIUM, // unset, Playwright's own\n")
	fmt.Fprintf(&b, "  proxy: { server: %s, username: %s, password: secret },\n", jsString("http://"+c.proxy), jsString(c.user))
	if c.ca != "" {
		b.WriteString("  args: [\"--ignore-certificate-errors-spki-list=\" + key],\n")
	}
	b.WriteString("});\ntry {\n")
	if c.trusts {
		b.WriteString("  const page = await browser.newPage({ ignoreHTTPSErrors: true });\n")
	} else {
		b.WriteString("  const page = await browser.newPage();\n")
	}
	if c.changes() {
		b.WriteString("  await page.route(\"**/*\", (route) =>\n    route.continue({\n")
		c.jsOverrides(&b, "route.request().headers()")
		b.WriteString("    }), { times: 1 });\n")
	}
	c.jsVisit(&b)
	return b.String(), nil
}

// remotePlaywright writes a program for Node that goes to the page with the remote browser.
func remotePlaywright(c call) (string, error) {
	var b strings.Builder
	b.WriteString(comment("//", c.remarks("npm install playwright; node playwright.mjs", false)))
	c.jsImports(&b, `import { chromium } from "playwright";`)
	c.jsRemote(&b)
	b.WriteString("const browser = await chromium.connectOverCDP(address.href);\ntry {\n")
	b.WriteString("  const page = await browser.contexts()[0].newPage();\n")
	c.jsVisit(&b)
	return b.String(), nil
}
