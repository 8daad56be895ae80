#!/usr/bin/env python3
# pip install requests; python3 fetch.py
# ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo
# compared runs: 3 of 3 ok
# the lines of X-It are sent as one
import os
import sys
from urllib.parse import quote

import requests

password = os.environ.get("ZONEDECK_ZONE_PASSWORD")
if not password:
    sys.exit("ZONEDECK_ZONE_PASSWORD is not set")
username = "brd-customer-hl_demo01-zone-unlocker_demo-country-de"
proxy = f"http://{quote(username, safe='')}:{quote(password, safe='')}@proxy.test:33335"
session = requests.Session()
session.trust_env = False  # no proxy, login or authority of the environment
answer = session.request(
    "POST",
    "https://shop.test/find?q=it%27s&x=%22%C3%A9%22",
    headers={
        "Content-Type": "application/json",
        "X-It": "it's 100%, two",
    },
    data='{"name":"it\'s é"}'.encode(),
    proxies={"http": proxy, "https": proxy},
    verify="/etc/service ca.pem",
    allow_redirects=False,
    timeout=180,
)
print(answer.status_code, file=sys.stderr)
sys.stdout.buffer.write(answer.content)
