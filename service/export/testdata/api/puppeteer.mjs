not exported: Puppeteer: a browser goes through the proxy, while the API returns the page by itself: choose Native
