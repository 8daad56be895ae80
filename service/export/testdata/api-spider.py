#!/usr/bin/env python3
# pip install scrapy; python3 spider.py
# ACME_KEY is the API key
# compared runs: 3 of 3 ok
import os
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

key = os.environ.get("ACME_KEY")
if not key:
    sys.exit("ACME_KEY is not set")


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
        "DOWNLOADER_CLIENTCONTEXTFACTORY": "scrapy.core.downloader.contextfactory.BrowserLikeContextFactory",
    }

    def start_requests(self):
        yield scrapy.Request(
            "https://api.test/request",
            method="POST",
            headers={
                "Authorization": "Bearer " + key,
                "Content-Type": ["application/json"],
            },
            body='{"zone":"unlocker_demo","url":"https://shop.test/find?q=it\'s&x=\\"é\\"","format":"raw","method":"POST","headers":{"Content-Type":"application/json","X-It":"it\'s 100%, two"},"body":"{\\"name\\":\\"it\'s é\\"}","country":"de"}'.encode(),
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
