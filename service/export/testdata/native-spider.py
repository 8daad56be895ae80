#!/usr/bin/env python3
# pip install scrapy; python3 spider.py
# ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo
# compared runs: 3 of 3 ok
import os
import sys
from urllib.parse import quote

import scrapy
from scrapy.crawler import CrawlerProcess

password = os.environ.get("ZONEDECK_ZONE_PASSWORD")
if not password:
    sys.exit("ZONEDECK_ZONE_PASSWORD is not set")
username = "brd-customer-hl_demo01-zone-unlocker_demo-country-de"
proxy = f"http://{quote(username, safe='')}:{quote(password, safe='')}@proxy.test:33335"
os.environ["SSL_CERT_FILE"] = "/etc/service ca.pem"


class Fetch(scrapy.Spider):
    name = "fetch"
    custom_settings = {
        "CONCURRENT_REQUESTS": 1,
        "DOWNLOAD_DELAY": 0,
        "DOWNLOAD_TIMEOUT": 180,
        "ROBOTSTXT_OBEY": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "HTTPERROR_ALLOW_ALL": True,
        "COOKIES_ENABLED": False,
        "DEFAULT_REQUEST_HEADERS": {},
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "HTTPPROXY_AUTH_ENCODING": "utf-8",
        "DOWNLOADER_CLIENTCONTEXTFACTORY": "scrapy.core.downloader.contextfactory.BrowserLikeContextFactory",
    }

    def start_requests(self):
        yield scrapy.Request(
            "https://shop.test/find?q=it%27s&x=%22%C3%A9%22",
            method="POST",
            headers={
                "Content-Type": ["application/json"],
                "X-It": ["it's 100%", "two"],
            },
            body='{"name":"it\'s é"}'.encode(),
            meta={"proxy": proxy},
            dont_filter=True,
        )

    async def start(self):  # the name since Scrapy 2.13
        for request in self.start_requests():
            yield request

    def parse(self, response):
        print(response.status, file=sys.stderr)
        sys.stdout.buffer.write(response.body)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    process = CrawlerProcess()
    process.crawl(Fetch)
    process.start()
