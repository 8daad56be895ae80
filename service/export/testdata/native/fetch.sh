# sh fetch.sh
# ZONEDECK_ZONE_PASSWORD is the password of zone unlocker_demo
# compared runs: 3 of 3 ok
# no more than 12 of these at once: safe 12 (13 is refused twice), 4.0/s, p95 3.1 s, probed 2026-11-29 14:02
# curl checks the status alone: a wall that comes with 200 passes
: "${ZONEDECK_ZONE_PASSWORD:?is not set}" &&
printf 'Proxy-Authorization: Basic %s\n' "$(printf '%s:%s' 'brd-customer-hl_demo01-zone-unlocker_demo-country-de' "$ZONEDECK_ZONE_PASSWORD" | base64 | tr -d '\n')" |
  curl -sS --fail-with-body --proxy-header @- \
  --proxy 'http://proxy.test:33335' --noproxy '' \
  --cacert '/etc/service ca.pem' \
  -H 'Content-Type: application/json' \
  -H 'X-It: it'\''s 100%' \
  -H 'X-It: two' \
  --data-raw '{"name":"it'\''s é"}' \
  --parallel-max 12 \
  'https://shop.test/find?q=it%27s&x=%22%C3%A9%22'
