package export

import (
	"fmt"
	"strings"
)

// writeScrapy writes a spider, with the settings that keep the request as it is.
func writeScrapy(c call) (string, error) {
	if c.dots() {
		return "", errDots
	}
	c = c.asksForGzip()
	var b strings.Builder
	c.pyHead(&b, "pip install scrapy; python3 spider.py", "import gzip\n", "import scrapy\nfrom scrapy.crawler import CrawlerProcess\n", false)
	if c.ca != "" && c.secure() {
		fmt.Fprintf(&b, "os.environ[\"SSL_CERT_FILE\"] = %s\n", PythonQuote(c.ca))
	}
	b.WriteString("\n\nclass Fetch(scrapy.Spider):\n    name = \"fetch\"\n    problem = \"no answer came that could be read\"\n    custom_settings = {\n")
	for _, s := range c.scrapySettings() {
		fmt.Fprintf(&b, "        %s,\n", s)
	}
	b.WriteString("    }\n\n    def start_requests(self):\n        yield scrapy.Request(\n")
	fmt.Fprintf(&b, "            %s,\n            method=%s,\n", PythonQuote(c.url), PythonQuote(c.method))
	c.scrapyHeaders(&b)
	if c.body != "" {
		fmt.Fprintf(&b, "            body=%s,\n", pyBytes(c.body))
	}
	if c.byProxy() {
		b.WriteString("            meta={\"proxy\": proxy},\n")
	}
	b.WriteString("            dont_filter=True,\n        )\n\n")
	b.WriteString("    async def start(self):  # the name since Scrapy 2.13\n        for request in self.start_requests():\n            yield request\n\n")
	b.WriteString("    def parse(self, response):\n        body = response.body\n        if response.headers.get(\"Content-Encoding\") == b\"gzip\":\n            body = gzip.decompress(body)\n")
	b.WriteString("        print(response.status, file=sys.stderr)\n        sys.stdout.buffer.write(body)\n        sys.stdout.buffer.flush()\n")
	b.WriteString("        Fetch.problem = problem(response.status, response.headers.to_unicode_dict(), body)\n\n\n" + c.check(pythonCheck, "    ", PythonQuote, pyPattern) + "\n\n")
	b.WriteString("if __name__ == \"__main__\":\n    process = CrawlerProcess()\n    process.crawl(Fetch)\n    process.start()\n")
	b.WriteString("    if Fetch.problem:\n        sys.exit(\"not ok: \" + Fetch.problem)\n    print(\"ok\", file=sys.stderr)\n")
	return b.String(), nil
}

// scrapyHeaders writes the headers, of which Scrapy sends several lines of one name.
func (c call) scrapyHeaders(b *strings.Builder) {
	b.WriteString("            headers={\n")
	if !c.byProxy() {
		b.WriteString("                \"Authorization\": \"Bearer \" + key,\n")
	}
	for i := 0; i < len(c.header); {
		name := c.header[i].name
		fmt.Fprintf(b, "                %s: [", PythonQuote(name))
		for sep := ""; i < len(c.header) && c.header[i].name == name; i++ {
			b.WriteString(sep + pyText(c.header[i].value))
			sep = ", "
		}
		b.WriteString("],\n")
	}
	b.WriteString("            },\n")
}

// scrapySettings are the lines of a spider's settings.
func (c call) scrapySettings() []string {
	out := []string{
		fmt.Sprintf(`"CONCURRENT_REQUESTS": %d`, max(c.AtOnce, 1)), // raise it once more were seen to hold
		fmt.Sprintf(`"CONCURRENT_REQUESTS_PER_DOMAIN": %d`, max(c.AtOnce, 1)),
		`"DOWNLOAD_DELAY": 0`,
		fmt.Sprintf(`"DOWNLOAD_TIMEOUT": %d`, c.seconds()),
		`"ROBOTSTXT_OBEY": False`,
		`"RETRY_ENABLED": False`,
		`"REDIRECT_ENABLED": False`,
		`"HTTPERROR_ALLOW_ALL": True`,
		`"COOKIES_ENABLED": False`,     // else a Cookie header is dropped
		`"COMPRESSION_ENABLED": False`, // else an unknown coding is not to be seen
		`"DEFAULT_REQUEST_HEADERS": {}`,
		`"TELNETCONSOLE_ENABLED": False`,
		`"LOG_LEVEL": "WARNING"`,
		`"REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7"`,
	}
	if c.byProxy() {
		out = append(out, `"HTTPPROXY_AUTH_ENCODING": "utf-8"`)
	}
	if c.secure() && !c.trusts { // by default Scrapy checks no certificate
		out = append(out, `"DOWNLOADER_CLIENTCONTEXTFACTORY": "scrapy.core.downloader.contextfactory.BrowserLikeContextFactory"`)
	}
	return out
}
