#!/usr/bin/env python3
# pip install requests; python3 fetch.py
# ACME_KEY is the API key
# compared runs: 3 of 3 ok
import os
import sys

import requests

key = os.environ.get("ACME_KEY")
if not key:
    sys.exit("ACME_KEY is not set")
session = requests.Session()
session.trust_env = False  # no proxy, login or authority of the environment
answer = session.request(
    "POST",
    "https://api.test/request",
    headers={
        "Authorization": "Bearer " + key,
        "Content-Type": "application/json",
    },
    data='{"zone":"unlocker_demo","url":"https://shop.test/find?q=it\'s&x=\\"é\\"","format":"raw","method":"POST","headers":{"Content-Type":"application/json","X-It":"it\'s 100%, two"},"body":"{\\"name\\":\\"it\'s é\\"}","country":"de"}'.encode(),
    allow_redirects=False,
    timeout=180,
)
print(answer.status_code, file=sys.stderr)
sys.stdout.buffer.write(answer.content)
